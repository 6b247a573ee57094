// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
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
  std::vector<std::string> Read() { return Texts(file_.Read()); }
  std::vector<LogEntry> RestOf() {
    std::vector<LogEntry> rest;
    while (std::optional<LogEntry> entry = file_.TakeRest()) {
      rest.push_back(*std::move(entry));
    }
    return rest;
  }
  std::vector<std::string> TakeRest() { return Texts(RestOf()); }
  static std::vector<std::string> Texts(const std::vector<LogEntry>& entries) {
    std::vector<std::string> texts;
    for (const LogEntry& entry : entries) texts.push_back(entry.text);
    return texts;
  }

  TempDir dir_;
  std::string path_ = dir_ / "generator-1.log";
  LogFile file_{path_, {.role = "generator", .rank = 1}, absl::UTCTimeZone()};
};

TEST_F(LogFileTest, OlderFilesComeFirst) {
  for (int number = 1; number <= kOlderLogs; ++number) {
    ASSERT_OK(WriteFile(RotatedName(path_, number),
                        LineAt(9 - number, absl::StrCat("older ", number))));
  }
  Append(LineAt(9, "newest"));
  EXPECT_THAT(Read(), ElementsAre("older 3", "older 2", "older 1"));
  EXPECT_THAT(TakeRest(), ElementsAre("newest"));
}

TEST_F(LogFileTest, LinesWithoutAStampBelongToTheLineBefore) {
  Append(LineAt(1, "failed") + "Traceback:\n  a.py\n" + LineAt(2, "next"));
  EXPECT_THAT(Read(), ElementsAre("failed\nTraceback:\n  a.py"));
  // The rest of a line that comes with the next call is still part of it.
  Append("more\n");
  EXPECT_THAT(Read(), ElementsAre("next\nmore"));
  // What comes later has the time and the level of that line.
  Append("late\n");
  EXPECT_THAT(Read(), IsEmpty());
  const std::vector<LogEntry> late = file_.Read();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].text, "late");
  EXPECT_EQ(late[0].level, LogLevel::kWarn);
  EXPECT_EQ(absl::ToUnixSeconds(late[0].time) % 60, 2);
}

TEST_F(LogFileTest, WhatALoaderSaysIsAnErrorOfThatTime) {
  Append("cannot open shared object file\n");
  EXPECT_THAT(Read(), IsEmpty());
  const std::vector<LogEntry> rest = RestOf();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].level, LogLevel::kError);
  EXPECT_GT(rest[0].time, absl::FromUnixSeconds(1));
}

TEST_F(LogFileTest, BeforeTheFirstStampTimeIsThatOfTheStamp) {
  Append("warning of a library\n" + LineAt(3, "first") + LineAt(4, "second"));
  const std::vector<LogEntry> read = file_.Read();
  ASSERT_THAT(Texts(read), ElementsAre("warning of a library", "first"));
  EXPECT_EQ(read[0].time, read[1].time);
}

TEST_F(LogFileTest, ALineThatIsBeingWrittenIsWhole) {
  Append(LineAt(1, "a") + "2026-01-31 12:00:02.000 I gen");
  EXPECT_THAT(Read(), IsEmpty());
  Append("erator/1: b\n");
  EXPECT_THAT(Read(), ElementsAre("a"));
  Append("2026-01-31 12:00:03.000 I generator/1: its process died here");
  EXPECT_THAT(Read(), ElementsAre("b"));
  EXPECT_THAT(TakeRest(), ElementsAre("its process died here"));
}

TEST_F(LogFileTest, NothingIsLostWhenTheFileIsRenamed) {
  Append(LineAt(1, "a"));
  EXPECT_THAT(Read(), IsEmpty());
  Append(LineAt(2, "b"));
  ASSERT_OK(RotateFile(path_, kOlderLogs));
  Append(LineAt(3, "c") + LineAt(4, "d"));
  EXPECT_THAT(Read(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(TakeRest(), ElementsAre("d"));
}

TEST_F(LogFileTest, NothingIsLostWhenTheFileIsEmptied) {
  Append(LineAt(1, "long enough to be longer than the new file"));
  EXPECT_THAT(Read(), IsEmpty());
  Append(LineAt(2, "b"));
  ASSERT_OK(RotateOpenFile(path_, kOlderLogs));
  Append(LineAt(3, "c"));
  EXPECT_THAT(Read(),
              ElementsAre("long enough to be longer than the new file", "b"));
  EXPECT_THAT(TakeRest(), ElementsAre("c"));
}

// Of a file by pieces: no more of it is in memory.
TEST_F(LogFileTest, OneLineAfterTheOther) {
  for (int i = 0; i < 5000; ++i) Append(LineAt(i % 60, absl::StrCat("n", i)));
  LogFile file(path_, {.role = "generator", .rank = 1}, absl::UTCTimeZone());
  for (int i = 0; i < 4999; ++i) {
    const std::optional<LogEntry> entry = file.Next();
    ASSERT_TRUE(entry.has_value());
    ASSERT_EQ(entry->text, absl::StrCat("n", i));
  }
  EXPECT_FALSE(file.Next().has_value());
  const absl::Time last = absl::FromCivil(
      absl::CivilSecond(2026, 1, 31, 12, 0, 4999 % 60), absl::UTCTimeZone());
  EXPECT_FALSE(file.TakeOpen(last - absl::Milliseconds(1)).has_value());
  EXPECT_EQ(file.TakeOpen(last)->text, "n4999");
}

TEST_F(LogFileTest, NothingIsLostWhenTheFileIsRenamedTwice) {
  Append(LineAt(1, "a"));
  EXPECT_THAT(Read(), IsEmpty());
  Append(LineAt(2, "b"));
  ASSERT_OK(RotateFile(path_, kOlderLogs));
  Append(LineAt(3, "c"));
  ASSERT_OK(RotateFile(path_, kOlderLogs));
  Append(LineAt(4, "d") + LineAt(5, "e"));
  EXPECT_THAT(Read(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(TakeRest(), ElementsAre("e"));
}

TEST_F(LogFileTest, NothingIsLostWhenTheFileIsEmptiedTwice) {
  ASSERT_OK(WriteFile(RotatedName(path_, 1), LineAt(0, "older")));
  Append(LineAt(1, "a"));
  EXPECT_THAT(Read(), ElementsAre("older"));
  Append(LineAt(2, "b"));
  ASSERT_OK(RotateOpenFile(path_, kOlderLogs));
  Append(LineAt(3, "c"));
  ASSERT_OK(RotateOpenFile(path_, kOlderLogs));
  // It is larger than what was read of it.
  Append(LineAt(4, "d") + LineAt(5, "e") + LineAt(6, "f"));
  EXPECT_THAT(Read(), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(TakeRest(), ElementsAre("f"));
}

TEST_F(LogFileTest, WhatWasEmptyIsReadFromItsCopy) {
  Append("");
  EXPECT_THAT(Read(), IsEmpty());
  Append(LineAt(1, "a long line that has gone") + LineAt(2, "b"));
  ASSERT_OK(RotateOpenFile(path_, kOlderLogs));
  Append(LineAt(3, "c"));
  EXPECT_THAT(Read(), ElementsAre("a long line that has gone", "b"));
  EXPECT_THAT(TakeRest(), ElementsAre("c"));
}

// A look between the copy and the emptying.
TEST_F(LogFileTest, ACopyOfWhatIsThereIsNotReadTwice) {
  Append(LineAt(1, "a") + LineAt(2, "b"));
  EXPECT_THAT(Read(), ElementsAre("a"));
  ASSERT_OK(WriteFile(RotatedName(path_, 1),
                      LineAt(1, "a") + LineAt(2, "b") + LineAt(3, "c")));
  Append(LineAt(3, "c") + LineAt(4, "too late"));
  EXPECT_THAT(Read(), ElementsAre("b", "c"));
  ASSERT_OK(WriteFile(path_, LineAt(5, "d")));
  EXPECT_THAT(Read(), ElementsAre("too late"));
  EXPECT_THAT(TakeRest(), ElementsAre("d"));
}

TEST(ListLogSourcesTest, OnlyProcessesOfTheRun) {
  const TempDir run;
  ASSERT_OK(CreateDirectories(run / "logs"));
  for (const char* const name :
       {"gandem.log", "gandem.1.log", "generator-0.log", "generator-10.log",
        "discriminator-1.2.log", "evaluation.log", "generator--1.log",
        "generator-.log", "discriminator-2.log.tmp", "report.json"}) {
    ASSERT_OK(WriteFile(run / "logs/" + name, ""));
  }
  const auto sources = ListLogSources(run.path());
  ASSERT_OK(sources);
  EXPECT_THAT(*sources,
              ElementsAre(LogSource{.role = "gandem"},
                          LogSource{.role = "generator", .rank = 0},
                          LogSource{.role = "generator", .rank = 10}));
  EXPECT_EQ(LogPath("r", sources->at(2)), "r/logs/generator-10.log");
}

}  // namespace
}  // namespace gandem
