// SPDX-License-Identifier: Apache-2.0
//
// Callers that send large messages to a server. It reads nothing of strangers,
// who do not show the run's token; of others gRPC reads a message of any length
// before anybody is asked, and only the quota stops it.
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/rpc/channel.h"
#include "common/rpc/channel_guard.h"
#include "common/rpc/grpc_status.h"
#include "proto/control.grpc.pb.h"
#include "tests/testing/eventually.h"
#include "tests/testing/large_message.h"
#include "tests/testing/memory.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Eventually;
using gandem::testing::GrowthWhile;
using gandem::testing::LargeMessage;

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

void ServeThroughAFlood(
    absl::FunctionRef<std::shared_ptr<grpc::Channel>(const std::string&)>
        connect,
    int64_t most_growth) {
  AnyControl service;
  ASSERT_OK_AND_ASSIGN(const auto server,
                       RpcServer::Start({.address = "127.0.0.1:0",
                                         .rpc = {.max_message_bytes = 64 << 10},
                                         .memory_bytes = int64_t{16} << 20},
                                        [&](grpc::ServerBuilder& builder) {
                                          builder.RegisterService(&service);
                                        }));
  const auto flood = [&] {
    std::vector<Thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back("caller", [&] {
        EXPECT_FALSE(SendLargeRequest(connect(server->address())).ok());
      });
    }
  };
  const int64_t growth = GrowthWhile(flood);
  if (gandem::testing::kMeasuresMemory) {
    EXPECT_LT(growth, most_growth);
  }
  // Others may be cut off meanwhile, and are served when they ask again.
  ASSERT_OK_AND_ASSIGN(const auto channel,
                       CreateChannel(server->address(), {}));
  const auto stub = Control::NewStub(channel);
  EXPECT_TRUE(Eventually([&stub] {
    grpc::ClientContext context;
    context.set_deadline(ToGrpcDeadline(MonotonicNow() + absl::Seconds(10)));
    StatusReply reply;
    return stub->Status(&context, StatusRequest(), &reply).ok();
  }));
}

TEST(RpcFloodTest, NothingIsReadOfStrangers) {
  ServeThroughAFlood(Stranger, int64_t{128} << 20);
}

TEST(RpcFloodTest, AQuotaBoundsWhatArrives) {
  // Of 4 GiB; what the callers hold counts, too.
  ServeThroughAFlood(Member, int64_t{512} << 20);
}

}  // namespace
}  // namespace gandem
