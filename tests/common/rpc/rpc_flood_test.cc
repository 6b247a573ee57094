// SPDX-License-Identifier: Apache-2.0
//
// Callers that send much to a server. It reads no message of strangers, who do
// not show the run's token; of others gRPC reads a message of any length before
// anybody is asked, and only the quota stops it. Pings it answers without
// asking.
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/rpc/channel.h"
#include "common/rpc/channel_guard.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "proto/control.grpc.pb.h"
#include "tests/testing/eventually.h"
#include "tests/testing/large_message.h"
#include "tests/testing/memory.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/tcp_stranger.h"

namespace gandem {
namespace {

using gandem::testing::Eventually;
using gandem::testing::GrowthWhile;
using gandem::testing::LargeMessage;
using gandem::testing::TcpStranger;

constexpr int kCallers = 16;
constexpr size_t kMessageMiB = 256;

class AnyControl : public Control::Service {
 public:
  grpc::Status Status(grpc::ServerContext*, const StatusRequest*,
                      StatusReply*) override {
    return grpc::Status::OK;
  }
};

grpc::ChannelArguments OwnConnection() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

std::shared_ptr<grpc::Channel> Stranger(const std::string& address) {
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   OwnConnection());
}

std::shared_ptr<grpc::Channel> Member(const std::string& address) {
  return GuardedChannel(address, *ParseAddress(address), OwnConnection(),
                        ProcessCredentials());
}

absl::Status SendLargeRequest(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/gandem.Control/Heartbeat",
                                          LargeMessage(kMessageMiB), &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return FromGrpcStatus(status);
}

absl::Status Ask(const std::string& address) {
  GANDEM_ASSIGN_OR_RETURN(const auto channel, CreateChannel(address, {}));
  const auto stub = Control::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(ToGrpcDeadline(MonotonicNow() + absl::Seconds(30)));
  StatusReply reply;
  return FromGrpcStatus(stub->Status(&context, StatusRequest(), &reply));
}

// `flood` gets the server's address. `connections` as of RpcServer::Options.
void ServeThroughAFlood(
    absl::FunctionRef<void(const std::string&)> flood, int64_t most_growth,
    const std::shared_ptr<ConnectionTable>& connections = nullptr) {
  AnyControl service;
  ASSERT_OK_AND_ASSIGN(const auto server,
                       RpcServer::Start({.address = "127.0.0.1:0",
                                         .rpc = {.max_message_bytes = 64 << 10},
                                         .memory_bytes = int64_t{16} << 20,
                                         .connections = connections},
                                        [&](grpc::ServerBuilder& builder) {
                                          builder.RegisterService(&service);
                                        }));
  const int64_t growth = GrowthWhile([&] { flood(server->address()); });
  if (gandem::testing::kMeasuresMemory) {
    EXPECT_LT(growth, most_growth);
  }
  // Others may be cut off meanwhile, and are served when they ask again.
  EXPECT_TRUE(Eventually([&] { return Ask(server->address()).ok(); }));
}

void SendLargeRequests(
    absl::FunctionRef<std::shared_ptr<grpc::Channel>(const std::string&)>
        connect,
    const std::string& address) {
  std::vector<Thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back("caller", [&] {
      EXPECT_FALSE(SendLargeRequest(connect(address)).ok());
    });
  }
}

// Who takes no answer to them, and begins again when it is cut off.
void Ping(const std::string& address, const std::atomic<bool>& enough) {
  std::string pings;
  for (int i = 0; i < 4000; ++i) {
    pings.append("\0\0\x08\x06\0\0\0\0\0", 9).append("12345678");
  }
  while (!enough) {
    const TcpStranger stranger(address);
    stranger.Say(TcpStranger::kHello);
    while (!enough && stranger.Say(pings)) {
    }
  }
}

TEST(RpcFloodTest, PingsOfStrangersKeepNobodyOut) {
  const auto ping = [](const std::string& address) {
    std::atomic<bool> enough = false;
    std::vector<Thread> strangers;
    for (int i = 0; i < kCallers; ++i) {
      strangers.emplace_back("stranger", [&] { Ping(address, enough); });
    }
    for (int i = 0; i < 20; ++i) EXPECT_OK(Ask(address));
    enough = true;
  };
  ServeThroughAFlood(ping, int64_t{64} << 20,
                     std::make_shared<ConnectionTable>());
}

TEST(RpcFloodTest, NothingIsReadOfStrangers) {
  ServeThroughAFlood(
      [](const std::string& address) { SendLargeRequests(Stranger, address); },
      int64_t{128} << 20);
}

TEST(RpcFloodTest, AQuotaBoundsWhatArrives) {
  // Of 4 GiB; what the callers hold counts, too.
  ServeThroughAFlood(
      [](const std::string& address) { SendLargeRequests(Member, address); },
      int64_t{512} << 20);
}

}  // namespace
}  // namespace gandem
