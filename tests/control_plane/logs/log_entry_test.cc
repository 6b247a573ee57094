// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const LogSource kGenerator = {.role = "generator", .rank = 1};

// 2026-01-31 12:00:00.123 UTC
absl::Time Noon() { return absl::FromUnixMillis(int64_t{1769860800123}); }

TEST(LogEntryTest, TextIsReadInItsTimeZone) {
  const std::string line = "2026-01-31 13:00:00.123 W generator/1: slow: 2 s";
  const auto entry = ParseLogLine(line, kGenerator, absl::FixedTimeZone(3600));
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->time, Noon());
  EXPECT_EQ(entry->level, LogLevel::kWarn);
  EXPECT_EQ(entry->source, kGenerator);
  EXPECT_EQ(entry->text, "slow: 2 s");
  EXPECT_EQ(LogText(*entry, absl::FixedTimeZone(3600)), line);
}

TEST(LogEntryTest, JsonIsReadInUtc) {
  const std::string line =
      R"({"time":"2026-01-31T12:00:00.123Z","level":"error",)"
      R"("role":"generator","rank":1,"text":"a\nb"})";
  const auto entry = ParseLogLine(line, kGenerator, absl::FixedTimeZone(3600));
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->time, Noon());
  EXPECT_EQ(entry->level, LogLevel::kError);
  EXPECT_EQ(entry->text, "a\nb");
  EXPECT_EQ(LogJson(*entry), line);
}

TEST(LogEntryTest, ALineWithoutAValidStampIsNoEntry) {
  for (const char* const line :
       {"", "Traceback (most recent call last):", "{", "{}", "{\"time\": 3}",
        "2026-01-31 12:00:00.123 X generator/1: unknown level",
        "2026-13-31 12:00:00.123 I generator/1: month 13",
        "2026-01-31 12:00:00.123",
        R"({"time":"infinite-past","level":"info","text":"a"})",
        R"({"time":"2026-01-31T12:00:00.123Z","level":"loud","text":"a"})"}) {
    EXPECT_FALSE(
        ParseLogLine(line, kGenerator, absl::UTCTimeZone()).has_value())
        << line;
  }
}

TEST(LogEntryTest, TheRankIsLeftOutWhereThereIsNone) {
  const LogEntry entry = {
      .time = Noon(), .source = {.role = "gandem"}, .text = "a"};
  EXPECT_EQ(LogText(entry, absl::UTCTimeZone()),
            "2026-01-31 12:00:00.123 I gandem: a");
  EXPECT_THAT(LogJson(entry), Not(HasSubstr("rank")));
}

TEST(LogEntryTest, TextCannotOrderTheTerminalOrPlayALine) {
  const LogEntry entry = {
      .time = Noon(),
      .source = kGenerator,
      .text = "\x1b[2J\xff\n2026-01-31 12:00:00.124 E gandem: forged"};
  EXPECT_EQ(LogText(entry, absl::UTCTimeZone()),
            "2026-01-31 12:00:00.123 I generator/1: \\x1b[2J\\xff\n"
            "  | 2026-01-31 12:00:00.124 E gandem: forged");
  EXPECT_THAT(LogJson(entry), HasSubstr(R"(\\xff\n2026)"));
}

}  // namespace
}  // namespace gandem
