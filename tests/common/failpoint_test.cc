// SPDX-License-Identifier: Apache-2.0
#include "common/failpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "common/file.h"
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

TEST(FailpointDeathTest, KillsAtTheNthPass) {
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

TEST(FailpointDeathTest, ReadsTheEnvironment) {
  EXPECT_EXIT(
      {
        setenv("GANDEM_FAILPOINT", "checkpoint.before_rename:1", 1);
        (void)ArmFailpointFromEnvironment();
        Pass(1);
        std::_Exit(0);
      },
      KilledBySignal(SIGKILL), "");
}

TEST(FailpointTest, RefusesUnknownNamesAndCounts) {
  EXPECT_THAT(ArmFailpoint("checkpoint.before_lunch:1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'checkpoint.before_lunch'"),
                             HasSubstr("checkpoint.before_rename"))));
  for (const char* text :
       {"checkpoint.before_rename",
        "checkpoint.before_rename:", "checkpoint.before_rename:0",
        "checkpoint.before_rename:-1", "checkpoint.before_rename:x"}) {
    EXPECT_THAT(ArmFailpoint(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("N >= 1")))
        << text;
  }
}

// Reads all sources, so that neither side can forget the other.
TEST(FailpointTest, TableAndCodeAgree) {
  std::set<std::string> in_code;
  const std::regex use("GANDEM_FAILPOINT\\(\\s*\"([^\"]*)\"\\s*\\)");
  const std::filesystem::path root = std::getenv("GANDEM_SOURCE_DIR");
  for (const auto& folder : std::filesystem::directory_iterator(root)) {
    const std::string name = folder.path().filename();
    if (!folder.is_directory() || name == "tests" || name[0] == '.' ||
        name.starts_with("build")) {
      continue;
    }
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(entry.path()));
      for (std::sregex_iterator match(text.begin(), text.end(), use), end;
           match != end; ++match) {
        in_code.insert((*match)[1]);
      }
    }
  }
  std::set<std::string> in_table;
  for (const absl::string_view name : FailpointNames()) {
    in_table.insert(std::string(name));
  }
  EXPECT_EQ(in_code, in_table);
  EXPECT_TRUE(std::ranges::is_sorted(FailpointNames()));
}

}  // namespace
}  // namespace gandem
