// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/training_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files/file.h"
#include "common/files/rotation.h"
#include "common/monotonic_time.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TrainingWatcherTest : public ::testing::Test {
 protected:
  // Starts `script` in place of `gandem watch-eval`.
  void Start(const std::string& script) {
    const std::string program = dir_ / "gandem";
    ASSERT_OK(WriteFile(program, absl::StrCat("#!/bin/sh\n", script)));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ASSERT_OK_AND_ASSIGN(TrainingWatcher watcher,
                         TrainingWatcher::Start({.binary_folder = dir_.path(),
                                                 .run_dir = dir_ / "run",
                                                 .every = 10}));
    watcher_.emplace(std::move(watcher));
  }
  static void Await(const std::function<bool()>& condition) {
    const absl::Time deadline = MonotonicNow() + absl::Minutes(2);
    while (!condition()) {
      ASSERT_LT(MonotonicNow(), deadline);
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  // Returns all lines that are shown until the child has ended.
  std::vector<std::string> PollToTheEnd() {
    std::vector<std::string> lines;
    const absl::Time deadline = MonotonicNow() + absl::Minutes(2);
    while (watcher_->running() && MonotonicNow() < deadline) {
      for (std::string& line : watcher_->Poll()) {
        lines.push_back(std::move(line));
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_FALSE(watcher_->running());
    return lines;
  }
  std::string LogPath() const { return dir_ / "run/logs/watch-eval.log"; }

  const TempDir dir_;
  std::optional<TrainingWatcher> watcher_;
};

TEST_F(TrainingWatcherTest, ShowsEachLineOnce) {
  ASSERT_OK(CreateDirectories(dir_ / "run/logs"));
  ASSERT_OK(WriteFile(LogPath(), "of an earlier run\n"));
  Start("echo one; echo two; sleep 0.05; printf thr; sleep 0.05; echo ee");
  EXPECT_THAT(PollToTheEnd(), ElementsAre("one", "two", "three"));
}

TEST_F(TrainingWatcherTest, AFailureIsTheLastLine) {
  Start("echo one; exit 3");
  EXPECT_THAT(PollToTheEnd(),
              ElementsAre("one", HasSubstr("the training goes on")));
}

TEST_F(TrainingWatcherTest, ALongTextIsShown) {
  Start("seq 1 100000; echo end");
  Await([this] { return FileSize(LogPath()) == 588899; });
  const std::vector<std::string> lines = PollToTheEnd();
  ASSERT_THAT(lines, SizeIs(100001));
  EXPECT_EQ(lines.front(), "1");
  EXPECT_EQ(lines.back(), "end");
}

TEST_F(TrainingWatcherTest, ItsLogStaysBounded) {
  Start(absl::StrCat("head -c ", kMaxLogBytes + 1,
                     " /dev/zero; while test ! -e ", dir_ / "seen",
                     "; do sleep 0.01; done; echo two"));
  Await([this] {
    (void)watcher_->Poll();
    return PathExists(RotatedName(LogPath(), 1));
  });
  ASSERT_OK(WriteFile(dir_ / "seen", ""));
  EXPECT_THAT(PollToTheEnd(), ElementsAre("two"));
  EXPECT_EQ(ReadFile(LogPath(), 100).value(), "two\n");
}

}  // namespace
}  // namespace gandem
