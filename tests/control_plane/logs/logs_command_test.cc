// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/logs_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromCivil(
    absl::CivilSecond(2026, 1, 31, 12, 1, 0), absl::UTCTimeZone());

class LogsCommandTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(CreateDirectories(run_ / "logs")); }

  // Writes a line to the log of `who`, for example "generator/1".
  void Say(const std::string& who, int second, const std::string& text,
           const std::string& level = "I") {
    std::string name = who;
    for (char& c : name) c = c == '/' ? '-' : c;
    std::ofstream(run_ / "logs/" + name + ".log", std::ios::app)
        << "2026-01-31 12:00:"
        << absl::StrCat(absl::Dec(second, absl::kZeroPad2)) << ".000 " << level
        << " " << who << ": " << text << "\n";
  }

  // Shows the logs and stores the texts.
  absl::Status Show(const LogsOptions& options) {
    const LogsHooks hooks = {
        .run_is_alive = [this] { return waits_ < steps_.size(); },
        .wait =
            [this](absl::Duration) {
              if (waits_ < steps_.size()) steps_[waits_]();
              shown_before_.push_back(out_.str());
              ++waits_;
              return leaves_;
            },
        .now = [] { return kNow; },
        .zone = absl::UTCTimeZone()};
    LogsOptions all = options;
    if (all.run_dir.empty()) all.run_dir = run_.path();
    return RunLogs(all, hooks, out_);
  }
  std::vector<std::string> Shown() const {
    std::vector<std::string> texts;
    for (const absl::string_view line :
         absl::StrSplit(out_.str(), '\n', absl::SkipEmpty())) {
      texts.emplace_back(line.substr(line.rfind(' ') + 1));
    }
    return texts;
  }

  TempDir run_;
  std::ostringstream out_;
  // Actions during the waits of --follow, one per wait. The run then ends.
  std::vector<std::function<void()>> steps_;
  std::vector<std::string> shown_before_;  // per wait
  size_t waits_ = 0;
  bool leaves_ = false;
};

TEST_F(LogsCommandTest, TheLogsOfAllProcessesAreMerged) {
  Say("gandem", 1, "a");
  Say("discriminator/0", 2, "b");
  Say("generator/1", 3, "c");
  Say("gandem", 4, "d");
  // A restarted process appends to its file.
  Say("generator/1", 5, "e");
  Say("discriminator/0", 6, "f");
  EXPECT_OK(Show({}));
  EXPECT_THAT(Shown(), ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_THAT(out_.str(), HasSubstr("12:00:03.000 I generator/1: c\n"));
  EXPECT_EQ(waits_, 0U);
}

TEST_F(LogsCommandTest, LinesAreFilteredByRoleRankLevelAndTime) {
  Say("generator/0", 1, "g0");
  Say("generator/1", 2, "g1");
  Say("generator/1", 3, "g1-warn", "W");
  Say("discriminator/1", 4, "d1-error", "E");
  EXPECT_OK(Show({.role = "generator", .rank = 1}));
  EXPECT_THAT(Shown(), ElementsAre("g1", "g1-warn"));
  out_.str("");
  EXPECT_OK(Show({.rank = 1, .level = "warn"}));
  EXPECT_THAT(Shown(), ElementsAre("g1-warn", "d1-error"));
  out_.str("");
  EXPECT_OK(Show({.since = "57s"}));
  EXPECT_THAT(Shown(), ElementsAre("g1-warn", "d1-error"));
  out_.str("");
  EXPECT_OK(Show({.since = "2026-01-31T12:00:04Z"}));
  EXPECT_EQ(out_.str(),
            "2026-01-31 12:00:04.000 E discriminator/1: d1-error\n");
}

TEST_F(LogsCommandTest, OnlyProcessesOfTheRunAreShown) {
  for (const char* const name :
       {"discriminator-1.2.log", "evaluation.log", "generator--1.log",
        "generator-.log", "discriminator-2.log.tmp", "report.json"}) {
    ASSERT_OK(WriteFile(run_ / "logs/" + name, "no process\n"));
  }
  Say("gandem", 1, "a");
  Say("generator/10", 2, "b");
  EXPECT_OK(Show({}));
  EXPECT_THAT(Shown(), ElementsAre("a", "b"));
}

TEST_F(LogsCommandTest, TextCannotControlTheTerminalOrImitateALine) {
  Say("generator/1", 1, "\x1b[2J\xff\nforged");
  EXPECT_OK(Show({}));
  EXPECT_EQ(out_.str(),
            "2026-01-31 12:00:01.000 I generator/1: \\x1b[2J\\xff\n"
            "  | forged\n");
}

TEST_F(LogsCommandTest, FollowingEndsWithTheRun) {
  Say("gandem", 1, "start");
  steps_ = {[this] {
              Say("generator/0", 4, "g4");
              Say("discriminator/0", 3, "d3");
            },
            [this] { Say("generator/0", 6, "g6"); },
            // Writes the last lines to the files in the opposite order.
            [this] {
              Say("generator/0", 9, "g9");
              Say("discriminator/0", 7, "d7");
              Say("discriminator/0", 10, "d10");
              Say("gandem", 8, "end");
            }};
  EXPECT_OK(Show({.follow = true}));
  EXPECT_THAT(Shown(),
              ElementsAre("start", "d3", "g4", "g6", "d7", "end", "g9", "d10"));
  EXPECT_THAT(shown_before_[0], HasSubstr("start"));
  // One more wait collects late lines.
  EXPECT_EQ(waits_, steps_.size() + 1);
}

TEST_F(LogsCommandTest, LinesWithTheSameTimeAreOrderedByProcessAndFile) {
  Say("generator/0", 1, "c");
  Say("generator/0", 1, "d");
  Say("discriminator/0", 2, "e");
  Say("discriminator/0", 1, "b");
  Say("discriminator/0", 0, "a");
  EXPECT_OK(Show({}));
  EXPECT_THAT(Shown(), ElementsAre("a", "b", "c", "d", "e"));
}

TEST_F(LogsCommandTest, CtrlCShowsTheRemainingLines) {
  Say("gandem", 1, "a");
  steps_ = {[this] { Say("gandem", 2, "b"); }, [] {}};
  leaves_ = true;
  EXPECT_OK(Show({.follow = true}));
  EXPECT_THAT(Shown(), ElementsAre("a", "b"));
  EXPECT_EQ(waits_, 1U);
}

TEST_F(LogsCommandTest, MissingLogsAreReported) {
  EXPECT_THAT(Show({}), StatusIs(absl::StatusCode::kNotFound,
                                 HasSubstr("by hand write to stderr")));
  Say("generator/0", 1, "a");
  EXPECT_THAT(Show({.role = "generator", .rank = 7}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("no log of generator of rank 7"),
                             HasSubstr("those of generator-0"))));
  EXPECT_THAT(Show({.run_dir = "/no/such/run"}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("'/no/such/run' holds no run"),
                             HasSubstr("--run_dir"))));
  EXPECT_THAT(Show({.run_dir = "/no/such/run", .follow = true}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("holds no run")));
  EXPECT_THAT(Show({.since = "yesterday"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'yesterday'"), HasSubstr("1h30m"))));
  EXPECT_THAT(Show({.level = "loud"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("debug, info, warn, error")));
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST(ParseSinceTest, DurationsAndTimesAreParsed) {
  const absl::TimeZone zone = absl::FixedTimeZone(3600);
  EXPECT_EQ(*ParseSince("1m30s", kNow, zone), kNow - absl::Seconds(90));
  EXPECT_EQ(*ParseSince("2026-01-31 13:01:00", kNow, zone), kNow);
  EXPECT_EQ(*ParseSince("2026-01-31 13:01", kNow, zone), kNow);
  EXPECT_EQ(*ParseSince("2026-01-31T12:01:00Z", kNow, zone), kNow);
  EXPECT_FALSE(ParseSince("-5s", kNow, zone).ok());
}

}  // namespace
}  // namespace gandem
