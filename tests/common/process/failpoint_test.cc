// SPDX-License-Identifier: Apache-2.0
#include "common/process/failpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;

void Pass(int times) {
  for (int i = 0; i < times; ++i) GANDEM_FAILPOINT("checkpoint.before_rename");
}

TEST(FailpointTest, UnarmedPointsDoNothing) {
  ASSERT_OK(ArmFailpoint(""));
  Pass(3);
  ASSERT_OK(ArmFailpoint("checkpoint.after_rename:1"));
  Pass(3);
  ASSERT_OK(ArmFailpoint(""));
}

TEST(FailpointDeathTest, KillsAtTheNthCall) {
  EXPECT_EXIT(
      {
        (void)ArmFailpoint("checkpoint.before_rename:3");
        Pass(2);
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        (void)ArmFailpoint("checkpoint.before_rename:3");
        Pass(3);
        std::_Exit(0);
      },
      KilledBySignal(SIGKILL), "");
}

TEST(FailpointDeathTest, TheMarkerFileAllowsOneKill) {
  const TempDir dir;
  const std::string marker = dir / "killed";
  const auto run = [&marker] {
    (void)ArmFailpoint("checkpoint.before_rename:1:" + marker);
    Pass(1);
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), KilledBySignal(SIGKILL), "");
  EXPECT_TRUE(PathExists(marker));
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST(FailpointDeathTest, AHangLastsUntilTheProcessIsKilled) {
  const auto run = [] {
    (void)ArmFailpoint("hang checkpoint.before_rename:2");
    Pass(1);
    itimerval soon = {};
    soon.it_value.tv_usec = 50'000;
    setitimer(ITIMER_REAL, &soon, nullptr);
    Pass(1);
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), KilledBySignal(SIGALRM), "");
}

TEST(FailpointDeathTest, TheFaultOccursInTheNamedProcessOnly) {
  const auto run = [](const char* process) {
    (void)ArmFailpoint("kill checkpoint.before_rename@generator-1:1", process);
    Pass(1);
    std::_Exit(0);
  };
  EXPECT_EXIT(run("generator-1"), KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(run("generator-11"), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run(""), ::testing::ExitedWithCode(0), "");
}

TEST(FailpointTest, AStoppedProcessContinuesAfterSigcont) {
  const TempDir dir;
  const std::string marker = dir / "stopped";
  const pid_t child = fork();
  if (child == 0) {
    (void)ArmFailpoint("stop checkpoint.before_rename:2:" + marker);
    Pass(3);
    std::_Exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  ASSERT_OK_AND_ASSIGN(const std::string pid, ReadFile(marker));
  EXPECT_EQ(pid, absl::StrCat(child, "\n"));
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(FailpointTest, CutsConnections) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, name, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, name, &size), 0);
  ASSERT_EQ(connect(client, name, size), 0);
  char byte = 0;
  ASSERT_OK(ArmFailpoint("cut=fleet checkpoint.before_rename:1"));
  Pass(1);
  EXPECT_EQ(recv(client, &byte, 1, MSG_DONTWAIT), -1);  // still connected
  ASSERT_OK(ArmFailpoint("cut checkpoint.before_rename:1"));
  Pass(1);
  EXPECT_EQ(recv(client, &byte, 1, MSG_DONTWAIT), 0);
  ASSERT_OK(ArmFailpoint(""));
  close(client);
  close(listener);
}

TEST(FailpointTest, DamagesTheNamedByte) {
  const auto pass = [](size_t size) {
    return FailpointDamages("ring.encode_frame", size);
  };
  ASSERT_OK(ArmFailpoint(""));
  EXPECT_EQ(pass(10), std::nullopt);
  ASSERT_OK(ArmFailpoint("corrupt ring.encode_frame:2"));
  EXPECT_EQ(pass(10), std::nullopt);
  EXPECT_EQ(pass(10), 5);
  EXPECT_EQ(pass(10), std::nullopt);
  ASSERT_OK(ArmFailpoint("corrupt=0 ring.encode_frame:1+"));
  EXPECT_EQ(pass(10), 0);
  EXPECT_EQ(pass(0), std::nullopt);
  ASSERT_OK(ArmFailpoint("corrupt=999 ring.encode_frame:1+"));
  EXPECT_EQ(pass(10), 9);
  EXPECT_EQ(pass(100'000), 99'900);
  EXPECT_NE(WithWrongBit(7, 3), 7);
  for (const char* text : {"1000", "-1", "", "half"}) {
    EXPECT_THAT(
        ArmFailpoint(absl::StrCat("corrupt=", text, " ring.encode_frame:1")),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("corrupt=0 to")));
  }
  ASSERT_OK(ArmFailpoint(""));
}

TEST(FailpointDeathTest, SeveralFailpointsHaveSeparateCounts) {
  const TempDir dir;
  const auto pass_after_rename = [] {
    GANDEM_FAILPOINT("checkpoint.after_rename");
  };
  const std::string text =
      absl::StrCat("kill checkpoint.before_rename@gandem:2:", dir / "first",
                   ";checkpoint.after_rename@evaluation:1",
                   ";kill checkpoint.after_rename@gandem:3:", dir / "second");
  const auto run = [&](int before, int after) {
    (void)ArmFailpoint(text, "gandem");
    for (int i = 0; i < after; ++i) pass_after_rename();
    Pass(before);
    std::_Exit(0);
  };
  EXPECT_EXIT(run(1, 2), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run(0, 3), KilledBySignal(SIGKILL), "");
  EXPECT_TRUE(PathExists(dir / "second"));
  EXPECT_FALSE(PathExists(dir / "first"));
  EXPECT_EXIT(run(2, 3), KilledBySignal(SIGKILL), "");
  EXPECT_TRUE(PathExists(dir / "first"));
  EXPECT_EXIT(run(2, 3), ::testing::ExitedWithCode(0), "");
}

TEST(FailpointTest, AListWithAnInvalidFailpointIsRefusedAndArmsNothing) {
  EXPECT_THAT(ArmFailpoint("checkpoint.before_rename:1;checkpoint.prune:0"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'checkpoint.prune:0'")));
  Pass(1);
  ASSERT_OK(ArmFailpoint(""));
}

TEST(FailpointDeathTest, ReadsTheEnvironment) {
  EXPECT_EXIT(
      {
        setenv("GANDEM_FAILPOINT", "checkpoint.before_rename:1", 1);
        (void)ArmFailpointFromEnvironment("gandem");
        Pass(1);
        std::_Exit(0);
      },
      KilledBySignal(SIGKILL), "");
}

TEST(FailpointTest, RefusesUnknownKindsAndCounts) {
  EXPECT_THAT(ArmFailpoint("halt checkpoint.before_rename:1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'halt'"), HasSubstr("stop"))));
  for (const char* text :
       {"checkpoint.before_rename",
        "checkpoint.before_rename:", "checkpoint.before_rename:0",
        "checkpoint.before_rename:-1", "checkpoint.before_rename:x"}) {
    EXPECT_THAT(ArmFailpoint(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("N >= 1")))
        << text;
  }
}

}  // namespace
}  // namespace gandem
