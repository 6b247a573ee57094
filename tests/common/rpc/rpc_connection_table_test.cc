// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/monotonic_time.h"
#include "common/rpc/channel.h"
#include "common/rpc/connection_table.h"
#include "common/rpc/unary_calls.h"
#include "proto/control.grpc.pb.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/tcp_stranger.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::TcpStranger;

// Two ends of a connection; the server owns the first one.
struct Pair {
  Pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    server = fds[0];
    client = fds[1];
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    CloseServer();
    close(client);
  }
  void CloseServer() {
    if (server >= 0) close(std::exchange(server, -1));
  }
  // Whether the server has ended it.
  bool IsEnded() const {
    char byte = 0;
    return recv(client, &byte, 1, MSG_DONTWAIT) == 0;
  }

  int server = -1;
  int client = -1;
};

TEST(ConnectionTableTest, TheOldestStrangerMakesRoom) {
  ConnectionTable table({.unknown = 2, .all = 10});
  Pair pairs[4];
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(table.Add(pairs[i].server, absl::StrCat("ipv4:1.2.3.4:", i)));
  }
  EXPECT_TRUE(pairs[0].IsEnded());
  EXPECT_TRUE(pairs[1].IsEnded());
  EXPECT_FALSE(pairs[2].IsEnded());
  EXPECT_FALSE(pairs[3].IsEnded());
  EXPECT_EQ(table.num_open(), 2);
}

TEST(ConnectionTableTest, WhoIsKnownStays) {
  ConnectionTable table({.unknown = 2, .all = 3});
  Pair pairs[5];
  ASSERT_TRUE(table.Add(pairs[0].server, "ipv4:1.2.3.4:5"));
  table.NoteKnown("ipv4:1.2.3.4:5");
  table.NoteKnown("ipv4:1.2.3.4:6");  // not in the table
  ASSERT_TRUE(table.Add(pairs[1].server, "ipv6:[::1]:7"));
  table.NoteKnown("ipv6:%5B::1%5D:7");  // as gRPC says it
  EXPECT_EQ(table.num_known(), 2);
  ASSERT_TRUE(table.Add(pairs[2].server, "ipv4:1.2.3.4:8"));
  ASSERT_TRUE(table.Add(pairs[3].server, "ipv4:1.2.3.4:9"));
  EXPECT_FALSE(pairs[0].IsEnded());
  EXPECT_FALSE(pairs[1].IsEnded());
  EXPECT_TRUE(pairs[2].IsEnded());
  table.NoteKnown("ipv4:1.2.3.4:9");
  EXPECT_FALSE(table.Add(pairs[4].server, "ipv4:1.2.3.4:10"));
  EXPECT_FALSE(table.EndOldestUnknown());
}

TEST(ConnectionTableTest, ForgetsWhatIsClosed) {
  ConnectionTable table({.unknown = 2, .all = 2});
  Pair first;
  Pair second;
  ASSERT_TRUE(table.Add(first.server, "a"));
  ASSERT_TRUE(table.Add(second.server, "b"));
  const int number = first.server;
  first.CloseServer();
  EXPECT_EQ(table.num_open(), 1);
  // The number is another's now.
  Pair other;
  ASSERT_EQ(other.server, number);
  EXPECT_EQ(table.num_open(), 1);
  EXPECT_TRUE(table.EndOldestUnknown());
  EXPECT_TRUE(second.IsEnded());
  EXPECT_FALSE(other.IsEnded());
}

// A server that notes who has asked for the status.
class NotingControl : public Control::Service {
 public:
  explicit NotingControl(std::shared_ptr<ConnectionTable> table)
      : table_(std::move(table)) {}
  grpc::Status Status(grpc::ServerContext* context, const StatusRequest*,
                      StatusReply*) override {
    table_->NoteKnown(context->peer());
    return grpc::Status::OK;
  }

 private:
  const std::shared_ptr<ConnectionTable> table_;
};

class LimitedServerTest : public ::testing::Test {
 protected:
  static absl::Status Ask(Control::Stub& stub) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    return CallIn(context, stub, &Control::Stub::Status, StatusRequest(),
                  MonotonicNow() + absl::Seconds(30))
        .status();
  }
  absl::Status Ask() { return Ask(*stub_); }

  const std::shared_ptr<ConnectionTable> table_ =
      std::make_shared<ConnectionTable>(ConnectionTable::Limits{
          .unknown = 4, .all = 8, .unknown_bytes = 20'000});
  NotingControl service_{table_};
  const std::unique_ptr<RpcServer> server_ =
      *RpcServer::Start({.address = "127.0.0.1:0", .connections = table_},
                        [this](grpc::ServerBuilder& builder) {
                          builder.RegisterService(&service_);
                        });
  const std::unique_ptr<Control::Stub> stub_ =
      Control::NewStub(*CreateChannel(server_->address(), {}));
};

TEST_F(LimitedServerTest, IdleConnectionsGiveWay) {
  ASSERT_OK(Ask());
  EXPECT_EQ(table_->num_known(), 1);
  std::vector<TcpStranger> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.emplace_back(server_->address()).Say(TcpStranger::kHello);
  }
  EXPECT_TRUE(Eventually([&] {
    return std::ranges::count_if(strangers, &TcpStranger::IsEnded) == 16;
  }));
  EXPECT_EQ(table_->num_open(), 5);
  EXPECT_EQ(table_->num_known(), 1);
  // A second caller finds room, too.
  const auto newcomer =
      Control::NewStub(*CreateChannel(server_->address(), {}));
  EXPECT_OK(Ask(*newcomer));
  EXPECT_OK(Ask());
  EXPECT_EQ(table_->num_known(), 2);
}

TEST_F(LimitedServerTest, WhoNeverSpeaksIsCutOff) {
  const TcpStranger stranger(server_->address());
  const absl::Time begin = MonotonicNow();
  EXPECT_TRUE(Eventually([&] { return stranger.IsEnded(); }));
  EXPECT_LT(MonotonicNow() - begin, absl::Seconds(60));
  EXPECT_TRUE(Eventually([&] { return table_->num_open() == 0; }));
}

// gRPC reads frames of a kind that HTTP/2 does not have, and ignores them.
TEST_F(LimitedServerTest, WhoTalksAndCallsNothingIsCutOff) {
  const TcpStranger patient(server_->address());
  const TcpStranger stranger(server_->address());
  for (const TcpStranger* each : {&patient, &stranger}) {
    each->Say(TcpStranger::kHello);
  }
  const std::string frame =
      std::string("\0\x03\xE8\xFA\0\0\0\0\0", 9) + std::string(1000, 'x');
  for (int i = 0; i < 15; ++i) stranger.Say(frame);
  absl::SleepFor(absl::Milliseconds(200));  // it may be looked at in vain
  EXPECT_FALSE(stranger.IsEnded());
  for (int i = 0; i < 6; ++i) stranger.Say(frame);
  EXPECT_TRUE(Eventually([&] { return stranger.IsEnded(); }));
  EXPECT_FALSE(patient.IsEnded());
}

TEST_F(LimitedServerTest, WhoIsKnownMaySendMuch) {
  for (int i = 0; i < 500; ++i) ASSERT_OK(Ask());
  EXPECT_EQ(table_->num_known(), 1);
  const TcpStranger stranger(server_->address());  // somebody is looked at
  stranger.Say(TcpStranger::kHello);  // who does not is cut off in the end
  EXPECT_TRUE(Eventually([&] { return table_->num_open() == 2; }));
  for (int i = 0; i < 500; ++i) ASSERT_OK(Ask());
  EXPECT_EQ(table_->num_known(), 1);
  EXPECT_FALSE(stranger.IsEnded());
}

}  // namespace
}  // namespace gandem
