// SPDX-License-Identifier: Apache-2.0
#include "common/process/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/process/cores.h"
#include "common/process/signals.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_programs.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::TestProgram;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ChildProcessTest : public ::testing::Test {
 protected:
  absl::StatusOr<ChildProcess> Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TestProgram("test_child"));
    return ChildProcess::Start(
        {.arguments = std::move(arguments), .log_path = log_});
  }
  static ProcessEnd WaitForEnd(ChildProcess& child) {
    std::optional<ProcessEnd> end;
    EXPECT_TRUE(Eventually([&] { return (end = child.Poll()).has_value(); }));
    return end.value_or(ProcessEnd{});
  }

  TempDir folder_;
  const std::string log_ = folder_ / "child.log";
};

TEST_F(ChildProcessTest, ReturnsTheExitCode) {
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"exit=70"}));
  const ProcessEnd end = WaitForEnd(child);
  EXPECT_EQ(end.exit_code, 70);
  EXPECT_EQ(end.description, "exited with code 70");
  EXPECT_EQ(child.Poll(), std::nullopt);  // reported once
}

TEST_F(ChildProcessTest, ChildrenThatDoNotEndInTimeKeepRunning) {
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"wait"}));
  EXPECT_THAT(child.AwaitEnd(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  child.Signal(SIGKILL);
  ASSERT_OK_AND_ASSIGN(const ProcessEnd end,
                       child.AwaitEnd(absl::InfiniteFuture()));
  EXPECT_EQ(end.exit_code, 137);
}

TEST_F(ChildProcessTest, RunToEndReturnsTheOutput) {
  ASSERT_OK_AND_ASSIGN(const ProcessOutput said,
                       RunToEnd({.arguments = {"/bin/sh", "-c",
                                               "echo out; echo err >&2; exit "
                                               "3"}},
                                absl::InfiniteFuture()));
  EXPECT_EQ(said.text, "out\nerr\n");
  EXPECT_EQ(said.end.exit_code, 3);
  EXPECT_THAT(RunToEnd({.arguments = {TestProgram("test_child"), "wait"}},
                       absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(ChildProcessTest, TheEnvironmentIsInheritedWithChanges) {
  setenv("GANDEM_TEST_KEPT", "kept", 1);
  setenv("GANDEM_TEST_CHANGED", "before", 1);
  ASSERT_OK_AND_ASSIGN(
      ChildProcess child,
      ChildProcess::Start(
          {.arguments = {"/bin/sh", "-c",
                         "echo $GANDEM_TEST_KEPT $GANDEM_TEST_CHANGED "
                         "$GANDEM_TEST_CHANGED2"},
           .log_path = log_,
           .environment = {"GANDEM_TEST_CHANGED=after",
                           "GANDEM_TEST_CHANGED2=new"}}));
  WaitForEnd(child);
  EXPECT_EQ(child.LogTail(1), "kept after new\n");
  EXPECT_STREQ(getenv("GANDEM_TEST_CHANGED"), "before");
}

TEST_F(ChildProcessTest, ReturnsTheSignal) {
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"signal=9"}));
  const ProcessEnd end = WaitForEnd(child);
  EXPECT_EQ(end.exit_code, 137);
  EXPECT_EQ(end.description, "was killed by signal 9 (Killed)");
}

TEST_F(ChildProcessTest, OutputGoesToTheLog) {
  ASSERT_OK(WriteFile(log_, "of an earlier process\n"));
  ASSERT_OK_AND_ASSIGN(ChildProcess child,
                       Start({"print=one", "print=two", "print=three"}));
  WaitForEnd(child);
  ASSERT_OK_AND_ASSIGN(const std::string log, ReadFile(log_));
  EXPECT_EQ(log, "of an earlier process\none\ntwo\nthree\n");
  EXPECT_EQ(child.LogTail(2), "two\nthree\n");
  EXPECT_EQ(child.LogTail(20), "one\ntwo\nthree\n");
}

TEST_F(ChildProcessTest, ATooLongLogIsRotated) {
  ASSERT_OK(WriteFile(log_, "of an earlier process\n"));
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"print=one"}));
  EXPECT_EQ(child.log_start(), 22);
  WaitForEnd(child);
  EXPECT_FALSE(child.TrimLog(26));
  EXPECT_EQ(FileSize(log_), 26);
  EXPECT_TRUE(child.TrimLog(25));
  EXPECT_EQ(FileSize(log_), 0);
  EXPECT_EQ(ReadFile(RotatedName(log_, 1)).value(),
            "of an earlier process\none\n");
  // Output after this line comes from this child.
  ASSERT_OK(WriteFile(log_, "two\n"));
  EXPECT_EQ(child.LogTail(20), "two\n");
}

TEST_F(ChildProcessTest, ATooLongLogIsRotatedAtTheStart) {
  ASSERT_OK(WriteFile(log_, std::string(kMaxLogBytes + 1, 'x')));
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"print=one"}));
  WaitForEnd(child);
  EXPECT_EQ(ReadFile(log_).value(), "one\n");
  EXPECT_EQ(FileSize(RotatedName(log_, 1)), kMaxLogBytes + 1);
}

TEST_F(ChildProcessTest, ALongLogIsSplitAtALine) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 300; ++i) {
    arguments.push_back("print=" + std::string(200, 'x'));
  }
  arguments.push_back("print=last");
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start(arguments));
  WaitForEnd(child);
  EXPECT_EQ(child.LogTail(3).size(), 2 * 201 + 5);
  EXPECT_LE(child.LogTail(1000).size(), 16 << 10);
  EXPECT_THAT(child.LogTail(1000), EndsWith("\nlast\n"));
}

TEST_F(ChildProcessTest, TheChildUsesTheGivenInputAndTheParentsOutput) {
  ASSERT_OK(WriteFile(folder_ / "input", "what it is given\n"));
  const int input = open((folder_ / "input").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(input, 0);
  ::testing::internal::CaptureStdout();
  auto child =
      ChildProcess::Start({.arguments = {"/bin/cat"}, .input_fd = input});
  if (child.ok()) WaitForEnd(*child);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "what it is given\n");
  close(input);
  ASSERT_OK(child.status());
  EXPECT_EQ(child->LogTail(3), "");
}

TEST_F(ChildProcessTest, AMissingBinaryIsNamed) {
  EXPECT_THAT(
      ChildProcess::Start(
          {.arguments = {folder_ / "no_such_worker"}, .log_path = log_}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no_such_worker")));
}

TEST_F(ChildProcessTest, ABinaryThatCannotBeExecutedIsNamed) {
  ASSERT_OK(WriteFile(folder_ / "data", "not a program"));
  EXPECT_THAT(
      ChildProcess::Start({.arguments = {folder_ / "data"}, .log_path = log_}),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("data")));
}

TEST_F(ChildProcessTest, ALogThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(ChildProcess::Start({.arguments = {TestProgram("test_child")},
                                   .log_path = folder_ / "none/child.log"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("child.log")));
}

TEST_F(ChildProcessTest, ChildrenInheritNeitherSignalMaskNorDescriptors) {
  BlockSignals({SIGTERM});
  const int leaked = dup(STDERR_FILENO);  // without O_CLOEXEC
  ASSERT_GE(leaked, 0);
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"mask", "descriptors"}));
  WaitForEnd(child);
  close(leaked);
  UnblockAllSignals();
  EXPECT_EQ(child.LogTail(2), "SIGTERM is open\n3 open files\n");
}

TEST_F(ChildProcessTest, TheChildRunsOnItsCoresWithItsNiceness) {
  const std::vector<int> last = {AllowedCores().back()};
  ASSERT_OK_AND_ASSIGN(
      ChildProcess child,
      ChildProcess::Start({.arguments = {TestProgram("test_child"), "cores"},
                           .log_path = log_,
                           .cores = last,
                           .niceness = 3}));
  WaitForEnd(child);
  EXPECT_EQ(child.LogTail(1), absl::StrCat("cores ", CoresText(last),
                                           ", niceness ", nice(0) + 3, "\n"));
}

// Some kernels divide processor time between sessions first (autogroup).
TEST_F(ChildProcessTest, TheSessionHasTheNicenessOfTheChild) {
  ASSERT_OK_AND_ASSIGN(
      ChildProcess child,
      ChildProcess::Start({.arguments = {TestProgram("test_child"), "wait"},
                           .log_path = log_,
                           .niceness = 3}));
  const std::string path = absl::StrCat("/proc/", child.pid(), "/autogroup");
  const auto text = [&path] { return ReadFile(path).value_or(""); };
  // Kernels without autogroup do not have this file.
  const std::string before = ReadFile("/proc/self/autogroup").value_or("");
  EXPECT_TRUE(Eventually([&] {
    child.Poll();
    return before.empty() || absl::StrContains(text(), " nice 3");
  })) << text();
}

TEST_F(ChildProcessTest, ABinaryWithoutAnAllowedCoreIsNamed) {
  EXPECT_THAT(
      ChildProcess::Start({.arguments = {TestProgram("test_child")},
                           .log_path = log_,
                           .cores = {CPU_SETSIZE - 1}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("test_child")));
}

TEST_F(ChildProcessTest, TheChildHasItsOwnSession) {
  ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"wait"}));
  EXPECT_EQ(getsid(child.pid()), child.pid());
  EXPECT_NE(getsid(child.pid()), getsid(0));
}

TEST_F(ChildProcessTest, ChildrenThatIgnoreSigtermAreKilled) {
  ASSERT_OK_AND_ASSIGN(
      ChildProcess child,
      Start({"ignore_term", "touch=" + folder_ / "ready", "wait", "exit=1"}));
  ASSERT_TRUE(Eventually([&] { return PathExists(folder_ / "ready"); }));
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Poll(), std::nullopt);
  child.Signal(SIGKILL);
  EXPECT_EQ(WaitForEnd(child).exit_code, 137);
}

TEST_F(ChildProcessTest, TheDestructorLeavesNoProcess) {
  pid_t pid = 0;
  {
    ASSERT_OK_AND_ASSIGN(ChildProcess child, Start({"ignore_term", "wait"}));
    pid = child.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(ChildProcessTest, TheChildDiesWhenItsParentIsKilled) {
  // Orphans become children of this process, which can wait for them.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    auto child = Start({"ignore_term", "wait"});
    const pid_t pid = child.ok() ? child->pid() : -1;
    if (write(fds[1], &pid, sizeof(pid)) == sizeof(pid)) pause();
    _exit(1);
  }
  close(fds[1]);
  pid_t child = 0;
  ASSERT_EQ(read(fds[0], &child, sizeof(child)), sizeof(child));
  close(fds[0]);
  ASSERT_GT(child, 0);
  ASSERT_EQ(kill(parent, SIGKILL), 0);
  int wait_status = 0;
  ASSERT_EQ(waitpid(parent, &wait_status, 0), parent);
  ASSERT_EQ(waitpid(child, &wait_status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(wait_status));
  EXPECT_EQ(WTERMSIG(wait_status), SIGKILL);
}

}  // namespace
}  // namespace gandem
