// SPDX-License-Identifier: Apache-2.0
//
// The computing thread answers calls one after the other, and no caller waits
// beyond its deadline.
#include "common/control/measure_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/rpc/socket_folder.h"
#include "common/rpc/unary_calls.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_credentials.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr absl::Duration kReplyBound = absl::Seconds(60);

class MeasureServiceTest : public ::testing::Test, public MeasureHandler {
 protected:
  MeasureServiceTest() {
    gandem::testing::UseTestCredentials();
    auto server = StartMeasureServer(sockets_->AddressOf("m"), &service_);
    EXPECT_OK(server);
    server_ = *std::move(server);
    auto channel = CreateChannel(server_->address(), {});
    EXPECT_OK(channel);
    stub_ = Measuring::NewStub(*channel);
  }

  absl::StatusOr<PrepareReply> Prepare(const PrepareRequest& request) override {
    if (request.config_text().empty()) {
      return absl::InvalidArgumentError("no config");
    }
    thread_ = std::this_thread::get_id();
    PrepareReply reply;
    reply.set_round_seconds(1.5);
    return reply;
  }
  absl::StatusOr<MeasureReply> Measure(const MeasureRequest&) override {
    begun_.Notify();
    may_end_.WaitForNotification();
    return MeasureReply();
  }
  absl::StatusOr<TransferReply> Transfer(const TransferRequest&) override {
    return TransferReply();
  }

  absl::StatusOr<PrepareReply> CallPrepare(const std::string& config,
                                           absl::Duration limit = kReplyBound) {
    grpc::ClientContext context;
    PrepareRequest request;
    request.set_config_text(config);
    return CallIn(context, *stub_, &Measuring::Stub::Prepare, request,
                  MonotonicNow() + limit);
  }
  absl::Status CallMeasure() {
    grpc::ClientContext context;
    return CallIn(context, *stub_, &Measuring::Stub::Measure, MeasureRequest(),
                  MonotonicNow() + kReplyBound)
        .status();
  }

  const std::unique_ptr<SocketFolder> sockets_ = *SocketFolder::Create();
  MeasureService service_{this};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<Measuring::Stub> stub_;
  std::thread::id thread_;
  absl::Notification begun_;
  absl::Notification may_end_;
};

TEST_F(MeasureServiceTest, TheServingThreadAnswers) {
  std::thread::id serving;
  Thread server("serve", [&] {
    serving = std::this_thread::get_id();
    service_.Serve();
  });
  ASSERT_OK_AND_ASSIGN(const PrepareReply reply, CallPrepare("x"));
  EXPECT_EQ(reply.round_seconds(), 1.5);
  EXPECT_THAT(CallPrepare(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("no config")));
  service_.Stop();
  server.Join();
  EXPECT_EQ(thread_, serving);
}

TEST_F(MeasureServiceTest, CallsWithoutAnswerMeetTheirDeadline) {
  EXPECT_THAT(CallPrepare("x", absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
  service_.Stop();
}

TEST_F(MeasureServiceTest, WaitingCallsFailWhenTheServiceEnds) {
  Thread server("serve", [&] { service_.Serve(); });
  absl::Status measured;
  Thread first("first", [&] { measured = CallMeasure(); });
  begun_.WaitForNotification();
  absl::StatusOr<PrepareReply> prepared;
  Thread second("second", [&] { prepared = CallPrepare("x"); });
  service_.Stop();
  may_end_.Notify();
  first.Join();
  second.Join();
  server.Join();
  EXPECT_OK(measured);
  EXPECT_THAT(prepared,
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("leaving")));
  EXPECT_THAT(CallPrepare("x"),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("leaving")));
}

}  // namespace
}  // namespace gandem
