// SPDX-License-Identifier: Apache-2.0
#include "control_plane/monitoring/metrics_endpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "common/rpc/address.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns the whole answer to `request`.
std::string Ask(const std::string& address, const std::string& request) {
  const Address parsed = *ParseAddress(address);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(parsed.port));
  EXPECT_EQ(inet_pton(AF_INET, parsed.host.c_str(), &to.sin_addr), 1);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval bound = {.tv_sec = 60, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  EXPECT_EQ(write(fd, request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return answer;
}

std::string Get(const std::string& address, const std::string& path) {
  return Ask(address, absl::StrCat("GET ", path,
                                   " HTTP/1.1\r\nHost: h\r\n"
                                   "Connection: close\r\n\r\n"));
}

class MetricsEndpointTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(
      const std::string& listen) {
    return MetricsEndpoint::Start(
        {.listen = listen, .run_dir = run_dir_.path(), .status = [this] {
           StatusReply status;
           status.set_completed_rounds(++asked_);
           return status;
         }});
  }
  TempDir run_dir_;
  std::atomic<int> asked_ = 0;
};

TEST_F(MetricsEndpointTest, EveryScrapeReadsTheCurrentValues) {
  ASSERT_OK_AND_ASSIGN(const auto endpoint, Start("127.0.0.1:0"));
  EXPECT_THAT(Get(endpoint->address(), "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200"),
                    HasSubstr("gandem_completed_rounds 1\n")));
  RoundMetrics metrics;
  metrics.set_role(GENERATOR);
  metrics.set_run_epoch(1);
  metrics.set_images(64);
  endpoint->Add(metrics);
  EXPECT_THAT(Get(endpoint->address(), "/metrics"),
              AllOf(HasSubstr("gandem_completed_rounds 2\n"),
                    HasSubstr("gandem_images_total{role=\"generator\"} 64\n")));
}

TEST_F(MetricsEndpointTest, OtherPathsAreNotFound) {
  ASSERT_OK_AND_ASSIGN(const auto endpoint, Start("localhost:0"));
  EXPECT_THAT(Get(endpoint->address(), "/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get(endpoint->address(), "/../../etc/passwd"),
              ::testing::Not(StartsWith("HTTP/1.1 200")));
  Ask(endpoint->address(), "no HTTP\r\n\r\n");
  EXPECT_EQ(asked_, 0);
  EXPECT_THAT(Get(endpoint->address(), "/metrics"), StartsWith("HTTP/1.1 200"));
}

// Prometheus' server accepts IP addresses only. A shortened one needs a lookup.
TEST_F(MetricsEndpointTest, ANameIsResolvedOnce) {
  ASSERT_OK_AND_ASSIGN(const auto endpoint, Start("127.1:0"));
  const Address address = *ParseAddress(endpoint->address());
  EXPECT_EQ(address.host, "127.1");
  EXPECT_THAT(Get(absl::StrCat("127.0.0.1:", address.port), "/metrics"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(MetricsEndpointTest, AnUnusableAddressIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto endpoint, Start("127.0.0.1:0"));
  EXPECT_THAT(Start(endpoint->address()),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("--metrics_listen"),
                             HasSubstr(endpoint->address()))));
  EXPECT_THAT(Start("unix:/tmp/x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Prometheus reads HOST:PORT")));
  EXPECT_THAT(Start("9400"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("9400")));
}

}  // namespace
}  // namespace gandem
