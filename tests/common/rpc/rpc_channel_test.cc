// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/listen_check.h"
#include "common/rpc/socket_folder.h"
#include "common/rpc/unary_calls.h"
#include "proto/control.grpc.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Control service whose Status() returns the configured answer.
class FakeControl : public Control::Service {
 public:
  using Handler =
      std::function<absl::Status(grpc::ServerContext&, StatusReply&)>;
  explicit FakeControl(Handler handler) : handler_(std::move(handler)) {}

  grpc::Status Status(grpc::ServerContext* context, const StatusRequest*,
                      StatusReply* reply) override {
    return ToGrpcStatus(handler_(*context, *reply));
  }

 private:
  const Handler handler_;
};

absl::StatusOr<std::unique_ptr<RpcServer>> Serve(FakeControl& service,
                                                 std::string address,
                                                 RpcOptions rpc = {}) {
  return RpcServer::Start(
      {.address = std::move(address), .rpc = rpc},
      [&](grpc::ServerBuilder& builder) { builder.RegisterService(&service); });
}

absl::StatusOr<std::string> Ask(const std::string& address,
                                RpcOptions rpc = {}) {
  const auto channel = CreateChannel(address, rpc);
  if (!channel.ok()) return channel.status();
  const auto reply =
      UnaryCalls("").Call(*Control::NewStub(*channel), &Control::Stub::Status,
                          StatusRequest(), MonotonicNow() + absl::Seconds(60));
  if (!reply.ok()) return reply.status();
  return reply->run_name();
}

FakeControl Named(std::string name) {
  return FakeControl([name](grpc::ServerContext&, StatusReply& reply) {
    reply.set_run_name(name);
    return absl::OkStatus();
  });
}

TEST(ChannelTest, ServesOverAUnixSocketAndTcp) {
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  FakeControl service = Named("run");
  for (const std::string& address :
       {folder->AddressOf("control"), std::string("127.0.0.1:0"),
        std::string("localhost:0")}) {
    ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, address));
    ASSERT_OK_AND_ASSIGN(const std::string name, Ask(server->address()));
    EXPECT_EQ(name, "run");
  }
}

TEST(ChannelTest, TheSocketPathMayHaveAnyCharacter) {
  const TempDir dir;
  const std::string folder = dir / "a b%41?#\u00e9";
  ASSERT_OK(CreateDirectories(folder));
  FakeControl service = Named("run");
  ASSERT_OK_AND_ASSIGN(const auto server,
                       Serve(service, "unix:" + folder + "/s"));
  EXPECT_TRUE(PathExists(folder + "/s"));
  EXPECT_OK(Ask(server->address()));
}

TEST(ChannelTest, TheProxyInTheEnvironmentIsNotUsed) {
  // Nothing listens at the proxy's address.
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  FakeControl service = Named("run");
  ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, "127.0.0.1:0"));
  EXPECT_OK(Ask(server->address()));
  unsetenv("http_proxy");
}

TEST(ChannelTest, ErrorsArriveWithTheirDetail) {
  FakeControl service([](grpc::ServerContext&, StatusReply&) {
    ErrorDetail detail;
    detail.set_reason("superseded");
    return WithErrorDetail(absl::AbortedError(std::string(5000, '%')), detail);
  });
  ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, "127.0.0.1:0"));
  const absl::Status status = Ask(server->address()).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, StartsWith("%%")));
  ASSERT_TRUE(GetErrorDetail(status).has_value());
  EXPECT_EQ(GetErrorDetail(status)->reason(), "superseded");
}

TEST(ChannelTest, OversizedMessagesAreRefused) {
  FakeControl service = Named(std::string(200'000, 'x'));
  const RpcOptions small = {.max_message_bytes = 64 << 10};
  ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, "127.0.0.1:0"));
  EXPECT_OK(Ask(server->address()));
  EXPECT_THAT(Ask(server->address(), small),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_OK_AND_ASSIGN(const auto small_server,
                       Serve(service, "127.0.0.1:0", small));
  EXPECT_THAT(Ask(small_server->address()),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(ChannelTest, APortOrSocketInUseIsAnError) {
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  FakeControl first = Named("first");
  FakeControl second = Named("second");
  for (const std::string& address :
       {folder->AddressOf("control"), std::string("127.0.0.1:0")}) {
    ASSERT_OK_AND_ASSIGN(const auto server, Serve(first, address));
    EXPECT_THAT(Serve(second, server->address()),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         AllOf(HasSubstr(server->address()),
                               HasSubstr("another process does"))));
    ASSERT_OK_AND_ASSIGN(const std::string name, Ask(server->address()));
    EXPECT_EQ(name, "first");
  }
}

TEST(ChannelTest, TheSocketOfAKilledServerIsReplaced) {
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  const std::string path = folder->path() + "/control";
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  close(fd);  // the name remains
  FakeControl service = Named("run");
  ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, "unix:" + path));
  EXPECT_OK(Ask(server->address()));
}

TEST(ChannelTest, AFailureToListenIsExplained) {
  FakeControl service = Named("run");
  EXPECT_THAT(Serve(service, "unix:/no/such/folder/socket"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("unix:/no/such/folder/socket")));
  EXPECT_THAT(Serve(service, "0.0.0.0:0"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Serve(service, "nonsense"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ChannelTest, CheckCanListenPredictsWhetherListeningWorks) {
  FakeControl service = Named("run");
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  for (const std::string& address :
       {folder->AddressOf("control"), std::string("127.0.0.1:0")}) {
    EXPECT_OK(CheckCanListen(address, {}));
    ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, address));
    EXPECT_THAT(CheckCanListen(server->address(), {}),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         AllOf(HasSubstr(server->address()),
                               HasSubstr("another process does"))));
    EXPECT_OK(Ask(server->address()));
  }
  const Credentials trusting = {.insecure_network = true};
  EXPECT_THAT(CheckCanListen("0.0.0.0:0", {}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(CheckCanListen("0.0.0.0:0", trusting),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckCanListen("nonsense", trusting),
              StatusIs(absl::StatusCode::kInvalidArgument));
  // This machine does not have the address (RFC 5737).
  EXPECT_FALSE(CheckCanListen("192.0.2.1:0", trusting).ok());
}

TEST(ChannelTest, ABadAddressIsRefused) {
  EXPECT_THAT(CreateChannel("nowhere", {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ChannelTest, ReconnectsWhenTheServerIsBack) {
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  FakeControl service = Named("run");
  ASSERT_OK_AND_ASSIGN(auto server, Serve(service, folder->AddressOf("c")));
  ASSERT_OK_AND_ASSIGN(const auto channel,
                       CreateChannel(server->address(), {}));
  const auto stub = Control::NewStub(channel);
  const auto ask = [&stub](absl::Time deadline, bool wait) {
    grpc::ClientContext context;
    context.set_wait_for_ready(wait);
    return CallIn(context, *stub, &Control::Stub::Status, StatusRequest(),
                  deadline)
        .status();
  };
  const absl::Time soon = MonotonicNow() + absl::Seconds(60);
  EXPECT_OK(ask(soon, true));
  server.reset();
  EXPECT_THAT(ask(soon, false), StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_OK_AND_ASSIGN(server, Serve(service, folder->AddressOf("c")));
  EXPECT_OK(ask(soon, true));
}

TEST(ChannelTest, ShutdownCancelsRunningCallsAtItsDeadline) {
  absl::Notification started;
  FakeControl service([&](grpc::ServerContext& context, StatusReply&) {
    started.Notify();
    while (!context.IsCancelled()) std::this_thread::yield();
    return absl::CancelledError("server stopped");
  });
  ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, "127.0.0.1:0"));
  absl::Status status;
  Thread caller("caller", [&, address = server->address()] {
    status = Ask(address).status();
  });
  started.WaitForNotification();
  server->Shutdown(absl::InfinitePast());
  caller.Join();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(ChannelTest, APastDeadlineFailsAtOnce) {
  FakeControl service = Named("run");
  ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, "127.0.0.1:0"));
  ASSERT_OK_AND_ASSIGN(const auto channel,
                       CreateChannel(server->address(), {}));
  for (const absl::Time past :
       {absl::InfinitePast(), MonotonicNow() - absl::Seconds(1)}) {
    grpc::ClientContext context;
    EXPECT_THAT(CallIn(context, *Control::NewStub(channel),
                       &Control::Stub::Status, StatusRequest(), past),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
}

// Calls an address without a server until another thread cancels.
TEST(UnaryCallsTest, AnotherThreadCancelsAllCallsPermanently) {
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  ASSERT_OK_AND_ASSIGN(const auto channel,
                       CreateChannel(folder->AddressOf("nobody"), {}));
  const auto stub = Control::NewStub(channel);
  UnaryCalls calls("the client leaves");
  const auto call = [&] {
    return calls
        .Call(*stub, &Control::Stub::Status, StatusRequest(),
              absl::InfiniteFuture())
        .status();
  };
  const auto leaves =
      StatusIs(absl::StatusCode::kCancelled, "the client leaves");
  EXPECT_TRUE(calls.WaitUntil(absl::InfinitePast()));
  absl::Status waiting;
  Thread caller("caller", [&] { waiting = call(); });
  calls.Cancel(/*for_good=*/true);
  caller.Join();
  EXPECT_THAT(waiting, leaves);
  EXPECT_THAT(call(), leaves);
  EXPECT_FALSE(calls.WaitUntil(absl::InfiniteFuture()));
}

TEST(UnaryCallsTest, CancelledClientsMayCallAgain) {
  UnaryCalls calls("the client leaves");
  int asked = 0;
  FakeControl service([&](grpc::ServerContext& context, StatusReply&) {
    if (++asked > 1) return absl::OkStatus();
    calls.Cancel(/*for_good=*/false);
    while (!context.IsCancelled()) std::this_thread::yield();
    return absl::CancelledError("nobody waits any more");
  });
  ASSERT_OK_AND_ASSIGN(const auto server, Serve(service, "127.0.0.1:0"));
  ASSERT_OK_AND_ASSIGN(const auto channel,
                       CreateChannel(server->address(), {}));
  const auto stub = Control::NewStub(channel);
  const absl::Time soon = MonotonicNow() + absl::Seconds(60);
  EXPECT_THAT(calls.Call(*stub, &Control::Stub::Status, StatusRequest(), soon),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cut off")));
  EXPECT_OK(calls.Call(*stub, &Control::Stub::Status, StatusRequest(), soon));
}

TEST(UnaryCallsTest, ACallToAnAddressWithoutServerSaysSo) {
  ASSERT_OK_AND_ASSIGN(const auto channel, CreateChannel("127.0.0.1:1", {}));
  EXPECT_THAT(
      CallOnce(*Control::NewStub(channel), &Control::Stub::Status,
               StatusRequest(), "127.0.0.1:1", *ProcessCredentials(),
               MonotonicNow() + absl::Seconds(60)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nobody answers (")));
}

// A label of a host name has at most 63 letters, so no resolver is queried.
TEST(ListenTest, ANameWithoutAnAddressIsNamed) {
  const std::string name(64, 'x');
  EXPECT_THAT(
      TryToListen(*ParseAddress(name + ":0")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("the name '" + name + "' has no address here"),
                     HasSubstr("of this machine"))));
}

}  // namespace
}  // namespace gandem
