// SPDX-License-Identifier: Apache-2.0
//
// Heartbeats to a misbehaving coordinator; the other tests are in
// tests/control_plane/coordinator/control_service_test.cc.
#include "common/control/heartbeats.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "common/monotonic_time.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/socket_folder.h"
#include "proto/control.grpc.pb.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;

// Control service that accepts all calls.
class AnyControl : public Control::Service {
 public:
  explicit AnyControl(std::function<void()> on_report)
      : on_report_(std::move(on_report)) {}

  bool AwaitHeartbeats(int count) {
    absl::MutexLock lock(&mu_);
    const auto enough = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return heartbeats_ >= count;
    };
    return mu_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(1));
  }

  void Settle(int64_t step) {
    absl::MutexLock lock(&mu_);
    settled_step_ = step;
  }

  grpc::Status Register(grpc::ServerContext* /*context*/,
                        const RegisterRequest* /*request*/,
                        RegisterReply* /*reply*/) override {
    return grpc::Status::OK;
  }
  grpc::Status Heartbeat(grpc::ServerContext* /*context*/,
                         const HeartbeatRequest* /*request*/,
                         HeartbeatReply* reply) override {
    absl::MutexLock lock(&mu_);
    ++heartbeats_;
    reply->set_settled_step(settled_step_);
    return grpc::Status::OK;
  }
  grpc::Status ReportShard(grpc::ServerContext* /*context*/,
                           const ShardReport* /*request*/,
                           ShardReply* /*reply*/) override {
    on_report_();
    return grpc::Status::OK;
  }

 private:
  const std::function<void()> on_report_;
  absl::Mutex mu_;
  int heartbeats_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t settled_step_ ABSL_GUARDED_BY(mu_) = 0;
};

// The coordinator accepts the reports but never commits.
TEST(HeartbeatsTest, CheckpointLagIsReported) {
  WaitBoard waits(/*first_round=*/0);
  AnyControl service([] {});
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  ASSERT_OK_AND_ASSIGN(
      const auto server,
      RpcServer::Start({.address = folder->AddressOf("control")},
                       [&](grpc::ServerBuilder& builder) {
                         builder.RegisterService(&service);
                       }));
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      ControlClient::Create({.address = server->address(), .role = GENERATOR}));
  ASSERT_OK(client->Register(MonotonicNow() + absl::Minutes(1)));
  Heartbeats heartbeats(
      client.get(),
      Heartbeats::Options{.interval = absl::Milliseconds(1),
                          .waits = &waits,
                          .state = [] { return Heartbeats::WorkerState(); },
                          .on_reply = [](const HeartbeatReply&) {},
                          .on_end = [](const absl::Status&) {}});
  ShardReport report;
  for (const int64_t step : {10, 20, 30}) {
    report.set_step(step);
    heartbeats.AddShard(report);
  }
  EXPECT_FALSE(heartbeats.checkpoints_lag());
  report.set_step(40);
  heartbeats.AddShard(report);
  EXPECT_TRUE(heartbeats.checkpoints_lag());
  service.Settle(10);
  EXPECT_TRUE(
      Eventually([&heartbeats] { return !heartbeats.checkpoints_lag(); }));
}

// The worker has the next checkpoint before the last one is reported.
TEST(HeartbeatsTest, HeartbeatsContinueWhileCheckpointsAreReportedFast) {
  WaitBoard waits(/*first_round=*/0);
  absl::Mutex mu;
  std::optional<Heartbeats> heartbeats;
  AnyControl service([&] {
    absl::MutexLock lock(&mu);
    if (heartbeats.has_value()) heartbeats->AddShard(ShardReport());
  });
  ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
  ASSERT_OK_AND_ASSIGN(
      const auto server,
      RpcServer::Start({.address = folder->AddressOf("control")},
                       [&](grpc::ServerBuilder& builder) {
                         builder.RegisterService(&service);
                       }));
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      ControlClient::Create({.address = server->address(), .role = GENERATOR}));
  ASSERT_OK(client->Register(MonotonicNow() + absl::Minutes(1)));
  {
    absl::MutexLock lock(&mu);
    heartbeats.emplace(
        client.get(),
        Heartbeats::Options{.interval = absl::Milliseconds(1),
                            .waits = &waits,
                            .state = [] { return Heartbeats::WorkerState(); },
                            .on_reply = [](const HeartbeatReply&) {},
                            .on_end = [](const absl::Status&) {}});
    heartbeats->AddShard(ShardReport());
  }
  EXPECT_TRUE(service.AwaitHeartbeats(5));
  absl::MutexLock lock(&mu);
  heartbeats.reset();
}

}  // namespace
}  // namespace gandem
