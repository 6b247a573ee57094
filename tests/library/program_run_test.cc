// SPDX-License-Identifier: Apache-2.0
#include "library/program_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

class ProgramRunTest : public ::testing::Test {
 protected:
  absl::StatusOr<ProgramOutcome> Shell(
      const std::string& script,
      absl::Duration limit = absl::InfiniteDuration()) {
    return RunProgram({.arguments = {"/bin/sh", "-c", script},
                       .environment = {"GANDEM_TEST_WORD=told"},
                       .log_path = folder_ / "log",
                       .limit = limit});
  }

  TempDir folder_;
};

TEST_F(ProgramRunTest, ReturnsTheExitCodeAndTheOutput) {
  ASSERT_OK_AND_ASSIGN(const ProgramOutcome outcome,
                       Shell("echo $GANDEM_TEST_WORD $HOME; exit 3"));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_FALSE(outcome.reached_limit);
  EXPECT_THAT(outcome.said, HasSubstr("told /"));  // HOME is inherited
}

TEST_F(ProgramRunTest, AtItsTimeLimitAProgramIsAskedToStop) {
  ASSERT_OK_AND_ASSIGN(
      const ProgramOutcome outcome,
      Shell("trap 'exit 75' TERM; while true; do sleep 0.05; done",
            absl::Milliseconds(300)));
  EXPECT_TRUE(outcome.reached_limit);
  EXPECT_EQ(outcome.exit_code, 75);
}

TEST_F(ProgramRunTest, AMissingProgramIsNamed) {
  EXPECT_THAT(
      RunProgram({.arguments = {folder_ / "none"}, .log_path = folder_ / "log"})
          .status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
}

TEST_F(ProgramRunTest, RefusesToWaitIfTheKernelDiscardsExitCodes) {
  signal(SIGCHLD, SIG_IGN);
  const auto outcome = Shell("exit 0");
  signal(SIGCHLD, SIG_DFL);
  EXPECT_THAT(outcome.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("ignores SIGCHLD")));
}

// Another thread may take the exit code; the run must not hang.
TEST_F(ProgramRunTest, ReportsThatAnotherThreadHasTakenTheExitCode) {
  absl::Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) {
    std::atomic<bool> done = false;
    std::thread thief([&] {
      while (!done) waitpid(-1, nullptr, WNOHANG);
    });
    status = Shell("exit 0").status();
    done = true;
    thief.join();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("other code in this process")));
}

}  // namespace
}  // namespace gandem
