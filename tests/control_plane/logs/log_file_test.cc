// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/files/file.h"
#include "common/files/rotation.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string LineAt(int second, const std::string& text) {
  return absl::StrCat("2026-01-31 12:00:", absl::Dec(second, absl::kZeroPad2),
                      ".000 W generator/1: ", text, "\n");
}

class LogFileTest : public ::testing::Test {
 protected:
  void Append(const std::string& bytes) {
    std::ofstream(path_, std::ios::app) << bytes;
  }
  std::vector<std::string> Read(bool ended = false) {
    std::vector<std::string> texts;
    for (const LogEntry& entry : file_.Read(ended)) {
      texts.push_back(absl::StrReplaceAll(
          entry.text, {{entry.text.substr(0, entry.text.find(": ") + 2), ""}}));
    }
    return texts;
  }
  std::vector<std::string> ReadToTheEnd() { return Read(/*ended=*/true); }

  TempDir dir_;
  std::string path_ = dir_ / "generator-1.log";
  LogFile file_{path_, "generator/1", absl::UTCTimeZone()};
};

TEST_F(LogFileTest, OlderFilesComeFirst) {
  for (int number = 1; number <= kOlderLogs; ++number) {
    ASSERT_OK(WriteFile(RotatedName(path_, number),
                        LineAt(9 - number, absl::StrCat("older ", number))));
  }
  Append(LineAt(9, "newest"));
  EXPECT_THAT(Read(), ElementsAre("older 3", "older 2", "older 1", "newest"));
  EXPECT_THAT(ReadToTheEnd(), IsEmpty());
}

TEST_F(LogFileTest, LinesWithoutATimestampBelongToTheLineBefore) {
  Append(LineAt(1, "failed") + "Traceback:\n  a.py\n" + LineAt(2, "next"));
  EXPECT_THAT(Read(), ElementsAre("failed\nTraceback:\n  a.py", "next"));
  // Later text without a timestamp has the time and level of that message.
  Append("late\n");
  const std::vector<LogEntry> late = file_.Read(/*ended=*/false);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].text, "generator/1: late");
  EXPECT_EQ(late[0].level, LogLevel::kWarn);
  EXPECT_EQ(absl::ToUnixSeconds(late[0].time) % 60, 2);
}

TEST_F(LogFileTest, ALoaderMessageIsAnErrorWithTheFilesTime) {
  Append("cannot open shared object file\n");
  const std::vector<LogEntry> rest = file_.Read(/*ended=*/true);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].level, LogLevel::kError);
  EXPECT_GT(rest[0].time, absl::FromUnixSeconds(1));
}

TEST_F(LogFileTest, LinesBeforeTheFirstTimestampHaveItsTime) {
  Append("warning of a library\n" + LineAt(3, "first") + LineAt(4, "second"));
  const std::vector<LogEntry> read = file_.Read(/*ended=*/false);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].text, "generator/1: warning of a library");
  EXPECT_EQ(read[0].time, read[1].time);
}

TEST_F(LogFileTest, APartialLineIsReturnedOnceItIsComplete) {
  Append(LineAt(1, "a") + "2026-01-31 12:00:02.000 I gen");
  EXPECT_THAT(Read(), ElementsAre("a"));
  Append("erator/1: b\n");
  EXPECT_THAT(Read(), ElementsAre("b"));
  Append("2026-01-31 12:00:03.000 I generator/1: its process died here");
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_THAT(ReadToTheEnd(), ElementsAre("its process died here"));
}

TEST_F(LogFileTest, NothingIsLostWhenTheFileIsRenamed) {
  Append(LineAt(1, "a"));
  EXPECT_THAT(Read(), ElementsAre("a"));
  Append(LineAt(2, "b"));
  ASSERT_OK(RotateFile(path_, kOlderLogs));
  Append(LineAt(3, "c"));
  EXPECT_THAT(Read(), ElementsAre("b", "c"));
}

TEST_F(LogFileTest, NothingIsLostWhenTheFileIsCopiedAndEmptied) {
  Append(LineAt(1, "long enough to be longer than the new file"));
  EXPECT_THAT(Read(),
              ElementsAre("long enough to be longer than the new file"));
  Append(LineAt(2, "b"));
  ASSERT_OK(RotateOpenFile(path_, kOlderLogs));
  Append(LineAt(3, "c"));
  EXPECT_THAT(Read(), ElementsAre("b", "c"));
}

TEST_F(LogFileTest, ALongFileIsReadCompletely) {
  std::vector<std::string> expected;
  for (int i = 0; i < 5000; ++i) {
    expected.push_back(absl::StrCat("n", i));
    Append(LineAt(i % 60, expected.back()));
  }
  EXPECT_EQ(ReadToTheEnd(), expected);
}

// 2026-01-31 12:00:00.123 UTC
absl::Time Noon() { return absl::FromUnixMillis(int64_t{1769860800123}); }

TEST(ParseLogLineTest, TextIsReadInItsTimeZone) {
  const std::string line = "2026-01-31 13:00:00.123 W generator/1: slow: 2 s";
  const auto entry = ParseLogLine(line, absl::FixedTimeZone(3600));
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->time, Noon());
  EXPECT_EQ(entry->level, LogLevel::kWarn);
  EXPECT_EQ(entry->text, line);
}

TEST(ParseLogLineTest, JsonIsReadInUtc) {
  const std::string line =
      R"({"time":"2026-01-31T12:00:00.123Z","level":"error",)"
      R"("role":"generator","rank":1,"text":"a\nb"})";
  const auto entry = ParseLogLine(line, absl::FixedTimeZone(3600));
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->time, Noon());
  EXPECT_EQ(entry->level, LogLevel::kError);
  EXPECT_EQ(entry->text, line);
}

TEST(ParseLogLineTest, ALineWithoutAValidStampIsNotAnEntry) {
  for (const char* const line :
       {"", "Traceback (most recent call last):", "{", "{}", "{\"time\": 3}",
        "2026-01-31 12:00:00.123 X generator/1: unknown level",
        "2026-13-31 12:00:00.123 I generator/1: month 13",
        "2026-01-31 12:00:00.123",
        R"({"time":"infinite-past","level":"info","text":"a"})",
        R"({"time":"2026-01-31T12:00:00.123Z","level":"loud","text":"a"})"}) {
    EXPECT_FALSE(ParseLogLine(line, absl::UTCTimeZone()).has_value()) << line;
  }
}

}  // namespace
}  // namespace gandem
