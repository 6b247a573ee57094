// SPDX-License-Identifier: Apache-2.0
#include "common/process/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

TEST(LogTest, LinesCarryTimeLevelRoleAndRank) {
  const TempDir dir;
  ASSERT_OK(InitLogging({.role = "generator",
                         .rank = 1,
                         .level = "warn",
                         .file = dir / "log",
                         .to_stderr = false}));
  GANDEM_LOG_WARN("{} {} {}", absl::string_view("view"), 7,
                  absl::NotFoundError("why"));
  EXPECT_THAT(
      *ReadFile(dir / "log"),
      MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9:.]+ W generator/1: view 7 "
                   "NOT_FOUND: why\n"));
}

TEST(LogTest, AnObjectIsWrittenAsALineForPrograms) {
  const TempDir dir;
  ASSERT_OK(InitLogging({.role = "generator",
                         .rank = 1,
                         .format = "json",
                         .file = dir / "log",
                         .to_stderr = false}));
  GANDEM_LOG_WARN("it says \"{}\"\n and \xff", 100);
  GANDEM_LOG_INFO("100%");
  const std::vector<std::string> lines =
      absl::StrSplit(*ReadFile(dir / "log"), '\n');
  ASSERT_THAT(lines, SizeIs(3));
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first.at("level"), "warn");
  EXPECT_EQ(first.at("role"), "generator");
  EXPECT_EQ(first.at("rank"), 1);
  EXPECT_EQ(first.at("text"), "it says \"100\"\n and \\xff");
  EXPECT_THAT(first.at("time").get<std::string>(),
              MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9:]+[.][0-9]+Z"));
  EXPECT_EQ(nlohmann::json::parse(lines[1]).at("text"), "100%");
  ASSERT_OK(InitLogging({.role = "gandem", .to_stderr = false}));
}

TEST(LogTest, LevelsBelowTheChosenOneAreNotFormatted) {
  const TempDir dir;
  ASSERT_OK(InitLogging({.role = "100%d",
                         .level = "warn",
                         .file = dir / "log",
                         .to_stderr = false}));
  int evaluated = 0;
  GANDEM_LOG_DEBUG("{}", ++evaluated);
  GANDEM_LOG_INFO("{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  GANDEM_LOG_ERROR("{}", ++evaluated);
  EXPECT_THAT(*ReadFile(dir / "log"), HasSubstr(" E 100%d: 1\n"));
}

TEST(LogTest, ATooLongFileIsRotated) {
  const TempDir dir;
  const auto start = [&dir] {
    return InitLogging({.role = "gandem",
                        .file = dir / "gandem.log",
                        .max_file_bytes = 1000,
                        .to_stderr = false});
  };
  ASSERT_OK(start());
  for (int i = 0; i < 100; ++i) GANDEM_LOG_INFO("line {} of a long log", i);
  for (int number = 0; number <= kOlderLogs; ++number) {
    const std::string path = number == 0
                                 ? dir / "gandem.log"
                                 : RotatedName(dir / "gandem.log", number);
    EXPECT_GT(FileSize(path), 0) << path;
    EXPECT_LE(FileSize(path), 1000) << path;
  }
  EXPECT_FALSE(PathExists(RotatedName(dir / "gandem.log", kOlderLogs + 1)));
  EXPECT_THAT(*ReadFile(dir / "gandem.log"), HasSubstr("line 99 of"));
  // A restart appends to the same file.
  ASSERT_OK(start());
  EXPECT_THAT(*ReadFile(dir / "gandem.log"), HasSubstr("line 99 of"));
}

TEST(LogTest, WritingToAPipeDoesNotBlock) {
  const TempDir dir;
  const std::string path = dir / "gandem.log";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(
      InitLogging({.role = "gandem", .file = path}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a named pipe")));
}

TEST(LogTest, APayloadIsNotPrintedForPeople) {
  absl::Status status = absl::InternalError("torn");
  status.SetPayload("type.example/secret", absl::Cord("for programs"));
  EXPECT_EQ(fmt::format("{}", status), "INTERNAL: torn");
}

TEST(LogTest, RefusesUnknownLevelsAndUnwritableFiles) {
  EXPECT_THAT(InitLogging({.level = "loud"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("debug, info, warn, error")));
  EXPECT_THAT(InitLogging({.format = "xml"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("xml")));
  EXPECT_THAT(InitLogging({.file = "/dev/null/log"}),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("/dev/null/log")));
}

}  // namespace
}  // namespace gandem
