// SPDX-License-Identifier: Apache-2.0
//
// Strangers that keep connections to a coordinator open and say nothing, more
// than it may have descriptors: workers connect, and checkpoints are written.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "common/control/control_client.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "control_plane/coordinator/control_service.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::TempDir;

constexpr int kConnections = 1500;
constexpr int kDescriptors = 256;  // of the coordinator

// Connects to the port that it reads from `go`, says so to `done`, and waits
// for its end.
[[noreturn]] void BeStrangers(int go, int done) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (read(go, &name.sin_port, sizeof(name.sin_port)) !=
      sizeof(name.sin_port)) {
    _exit(1);
  }
  for (int i = 0; i < kConnections; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) break;
    (void)connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name));
  }
  (void)!write(done, "x", 1);
  while (true) pause();
}

// They are forked before gRPC has threads.
class Strangers {
 public:
  Strangers() {
    EXPECT_EQ(pipe(go_), 0);
    EXPECT_EQ(pipe(done_), 0);
    process_ = fork();
    if (process_ == 0) BeStrangers(go_[0], done_[1]);
  }
  ~Strangers() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  void Connect(int port) {
    const in_port_t number = htons(static_cast<uint16_t>(port));
    ASSERT_EQ(write(go_[1], &number, sizeof(number)),
              static_cast<ssize_t>(sizeof(number)));
    char byte = 0;
    ASSERT_EQ(read(done_[0], &byte, 1), 1);
  }

 private:
  int go_[2] = {-1, -1};
  int done_[2] = {-1, -1};
  pid_t process_ = -1;
};

class FewDescriptors {
 public:
  FewDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = kDescriptors;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

absl::StatusOr<std::unique_ptr<ControlClient>> WorkerOf(
    const std::string& address, Role role) {
  return ControlClient::Create({.address = address,
                                .role = role,
                                .call_timeout = absl::Seconds(5),
                                .retry_interval = absl::Milliseconds(50)});
}

TEST(IdleStrangersTest, WorkersConnectAndCheckpointsAreWritten) {
  Strangers strangers;
  const FewDescriptors few;
  const TempDir run_dir;
  auto coordinator =
      Coordinator::Create({.run_name = "test",
                           .run_dir = run_dir.path(),
                           .config_text = "rounds: 10\n",
                           .rounds = 10,
                           .workers = {{GENERATOR, 0}, {DISCRIMINATOR, 0}},
                           .external = true});
  ASSERT_OK(coordinator);
  ControlService service(coordinator->get(), {});
  ASSERT_OK_AND_ASSIGN(
      const auto server,
      StartControlServer({.address = "127.0.0.1:0"}, &service));
  const std::string& address = server->address();
  const absl::Time deadline = MonotonicNow() + absl::Minutes(2);
  ASSERT_OK_AND_ASSIGN(const auto generator, WorkerOf(address, GENERATOR));
  ASSERT_OK(generator->Register(deadline));
  EXPECT_EQ(service.connections()->num_known(), 1);

  strangers.Connect(std::stoi(address.substr(address.rfind(':') + 1)));
  ASSERT_OK_AND_ASSIGN(const auto discriminator,
                       WorkerOf(address, DISCRIMINATOR));
  ASSERT_OK(discriminator->Register(deadline));
  EXPECT_OK(generator->Heartbeat({}));
  EXPECT_EQ(service.connections()->num_known(), 2);
  EXPECT_OK(WriteFileDurably(run_dir / "checkpoint", "all of it"));
  EXPECT_TRUE(
      Eventually([&] { return service.connections()->num_open() <= 2 + 64; }));
}

}  // namespace
}  // namespace gandem
