// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/results/run_folder.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RunStatusTextTest, LongWaitsAreShown) {
  StatusReply status;
  status.set_state(StatusReply::RUNNING);
  WorkerStatus& worker = *status.add_workers();
  worker.set_role(GENERATOR);
  worker.set_state(WorkerStatus::RUNNING);
  WorkerPosition& position = *worker.mutable_position();
  position.set_wait(WorkerPosition::FEEDBACK);
  position.set_whom(DISCRIMINATOR);
  position.set_rank(1);
  position.set_seconds(4);
  EXPECT_THAT(RunStatusText("runs/a", status), Not(HasSubstr("waits for")));
  position.set_seconds(58);
  EXPECT_THAT(RunStatusText("runs/a", status),
              HasSubstr("  waits for feedback of discriminator 1 since 58 s"));
  position.set_wait(WorkerPosition::NOTHING);
  EXPECT_THAT(RunStatusText("runs/a", status), Not(HasSubstr("since 58 s")));
}

TEST(RunStatusTextTest, NamesTheRoleThatLimitsTheRun) {
  StatusReply status;
  status.set_limit("the generator limits the run");
  EXPECT_THAT(RunStatusText("runs/a", status),
              HasSubstr("\n  the generator limits the run\n"));
}

TEST(GetRunStatusTest, ARunThatDoesNotAnswerIsUnreachable) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "config.textproto",
                      "rounds: 60000 generator { network { mlp {} } } "
                      "discriminator { network { mlp {} } }"));
  ASSERT_OK_AND_ASSIGN(const StatusReply stopped,
                       GetRunStatus(dir.path(), "", absl::InfiniteFuture()));
  EXPECT_EQ(stopped.state(), StatusReply::STOPPED);
  ASSERT_OK_AND_ASSIGN(const RunLock lock,
                       RunFolder(dir.path()).LockForTraining());
  ASSERT_OK_AND_ASSIGN(const StatusReply status,
                       GetRunStatus(dir.path(), "", absl::InfiniteFuture()));
  EXPECT_EQ(status.state(), StatusReply::UNREACHABLE);
  EXPECT_THAT(status.detail(), HasSubstr("does not answer"));
}

TEST(RunStatusTextTest, ShowsDamagedMessages) {
  StatusReply status;
  status.set_state(StatusReply::RUNNING);
  WorkerStatus& worker = *status.add_workers();
  worker.set_role(GENERATOR);
  worker.mutable_last()->set_messages_damaged(2);
  EXPECT_THAT(RunStatusText("runs/a", status),
              HasSubstr("2 damaged messages, sent again"));
}

}  // namespace
}  // namespace gandem
