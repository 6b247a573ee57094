// SPDX-License-Identifier: Apache-2.0
//
// Requests that any process with access to the coordinator's socket can send,
// and the answers.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/process/exit_code.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"

namespace gandem {
namespace {

using ::gandem::testing::PlayedWorker;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StrangersTest : public ::gandem::testing::CoordinatorFixture {};

TEST_F(StrangersTest, RepeatedRefusalsDoNotFillTheOutput) {
  Open();
  Launch(generator_);
  RegisterRequest request = Registration(generator_);
  request.set_binary_version(std::string(1000, '\x1b'));
  for (int i = 0; i < 500; ++i) {
    EXPECT_FALSE(coordinator_->Register(request).ok());
  }
  TakeEvents();
  clock_.Advance(absl::Seconds(2));
  EXPECT_FALSE(coordinator_->Register(request).ok());
  const std::vector<std::string> events = TakeEvents();
  ASSERT_EQ(events.size(), 1);
  EXPECT_THAT(events[0], AllOf(HasSubstr("and 499 more before"),
                               HasSubstr("\\x1b"), Not(HasSubstr("\x1b"))));
  EXPECT_LT(events[0].size(), 300);
}

TEST_F(StrangersTest, AHostNeedsAName) {
  Open();
  Launch(generator_);
  RegisterRequest request = Registration(generator_);
  for (const std::string& host :
       {std::string("a\x1b[2Jb"), std::string("a\nb"), std::string(300, 'a')}) {
    request.set_host(host);
    EXPECT_THAT(coordinator_->Register(request),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("is no name of a host"),
                               Not(HasSubstr("\x1b")))));
  }
}

TEST_F(StrangersTest, TheFailureTextOfAWorkerIsTruncatedAndEscaped) {
  StartRun();
  HeartbeatRequest failed = Beat(generator_, 0, 0);
  failed.set_failure("\x1b]0;title\x07\r\nfinished" +
                     std::string(100'000, 'x'));
  failed.set_failure_exit_code(kExitUsage);
  ASSERT_OK(coordinator_->Heartbeat(failed));
  ASSERT_TRUE(coordinator_->outcome().has_value());
  const std::string detail = coordinator_->outcome()->detail;
  EXPECT_THAT(detail, HasSubstr("\\x1b]0;title\\x07\\x0d\\nfinishedxxx"));
  EXPECT_LT(detail.size(), 5000);
  for (const std::string& event : TakeEvents()) {
    EXPECT_THAT(event, Not(HasSubstr("\x1b")));
    EXPECT_THAT(event, Not(HasSubstr("\n")));
  }
}

TEST_F(StrangersTest, MetricsMustBelongToTheCaller) {
  StartRun();
  const auto send = [&](const RoundMetrics& metrics, int count) {
    HeartbeatRequest request = Beat(generator_, 0, 0);
    for (int i = 0; i < count; ++i) *request.add_metrics() = metrics;
    return coordinator_->Heartbeat(request).status();
  };
  const auto is_refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("metrics: "));
  RoundMetrics good;
  good.set_role(GENERATOR);
  good.set_run_epoch(1);
  good.set_sample_grid("samples/round-1.png");
  EXPECT_OK(send(good, 256));
  EXPECT_THAT(send(good, 257), is_refused);
  RoundMetrics bad = good;
  bad.set_role(DISCRIMINATOR);
  EXPECT_THAT(send(bad, 1), is_refused);
  bad = good;
  bad.set_rank(1);
  EXPECT_THAT(send(bad, 1), is_refused);
  bad = good;
  bad.set_run_epoch(2);  // later epochs would look like repeats
  EXPECT_THAT(send(bad, 1), is_refused);
  bad = good;
  bad.set_sample_grid("a\x1b.png");
  EXPECT_THAT(send(bad, 1), is_refused);
  bad.set_sample_grid(std::string(1000, 'a'));
  EXPECT_THAT(send(bad, 1), is_refused);
  EXPECT_OK(send(good, 1));
}

// Any client that can connect may read the status.
TEST_F(StrangersTest, TheStatusDoesNotRevealIncarnations) {
  StartRun();
  const std::string status = coordinator_->Status().DebugString();
  for (const PlayedWorker& worker : {generator_, discriminator_}) {
    EXPECT_THAT(status, Not(HasSubstr(absl::StrCat(worker.incarnation))));
  }
}

// A foreign process in a run that starts its own workers.
TEST_F(StrangersTest, ARefusalDoesNotRevealTheProcess) {
  Open();
  Launch(generator_);
  RegisterRequest request = Registration(generator_);
  request.set_pid(5);
  EXPECT_THAT(coordinator_->Register(request),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       Not(HasSubstr(absl::StrCat(generator_.pid)))));
  EXPECT_THAT(
      TakeEvents(),
      ::testing::Contains(HasSubstr(absl::StrCat("process ", generator_.pid))));
}

// The sender knows the run, but not the worker's incarnation.
TEST_F(StrangersTest, AForgedHeartbeatChangesNothing) {
  StartRun();
  for (int64_t guess = 1; guess < 1000; ++guess) {
    PlayedWorker forged = generator_;
    forged.incarnation = guess;
    HeartbeatRequest request = Beat(forged, 0, 0);
    request.set_stop_requested(true);
    request.set_failure("forged");
    request.set_failure_exit_code(kExitUsage);
    EXPECT_THAT(coordinator_->Heartbeat(request),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_OK(Send(generator_, 0, 0));
}

}  // namespace
}  // namespace gandem
