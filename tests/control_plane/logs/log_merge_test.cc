// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LogEntry At(int second, const std::string& role, const std::string& text) {
  return {.time = absl::FromUnixSeconds(second),
          .source = {.role = role, .rank = 0},
          .text = text};
}

std::vector<std::string> Texts(const std::vector<LogEntry>& entries) {
  std::vector<std::string> texts;
  for (const LogEntry& entry : entries) texts.push_back(entry.text);
  return texts;
}

TEST(MergeLogsTest, TimeThenProcessThenPlaceWithOneLineOfEach) {
  std::vector<std::deque<LogEntry>> logs = {
      {At(1, "generator", "g1"), At(1, "generator", "g1 again"),
       At(4, "generator", "g4"), At(3, "generator", "g3, late")},
      {},
      {At(1, "discriminator", "d1"), At(2, "discriminator", "d2"),
       At(5, "discriminator", "d5")}};
  size_t taken = 0;
  size_t asked = 0;
  std::vector<NextLogEntry> next;
  for (auto& log : logs) {
    next.push_back([&asked, &log]() -> std::optional<LogEntry> {
      if (log.empty()) return std::nullopt;
      ++asked;
      LogEntry entry = log.front();
      log.pop_front();
      return entry;
    });
  }
  std::vector<LogEntry> merged;
  MergeLogs(next, [&](LogEntry entry) {
    ++taken;
    EXPECT_LE(asked - taken, 2U);  // held
    merged.push_back(std::move(entry));
  });
  EXPECT_THAT(Texts(merged), ElementsAre("d1", "g1", "g1 again", "d2", "g4",
                                         "g3, late", "d5"));
}

TEST(LogMergeTest, TimeThenProcessThenPlaceInTheFile) {
  LogMerge merge;
  merge.Add({At(3, "generator", "g3"), At(1, "generator", "g1"),
             At(1, "generator", "g1 again")});
  merge.Add({At(1, "discriminator", "d1"), At(2, "discriminator", "d2")});
  EXPECT_THAT(Texts(merge.Drain()),
              ElementsAre("d1", "g1", "g1 again", "d2", "g3"));
  EXPECT_THAT(merge.Drain(), IsEmpty());
}

TEST(LogMergeTest, LinesWaitAWindowForThoseOfOthers) {
  LogMerge merge;
  merge.Add({At(2, "generator", "g2")});
  EXPECT_THAT(merge.Release(), IsEmpty());
  // Of these the older one goes before what has waited, the newer one waits.
  merge.Add({At(1, "discriminator", "d1"), At(3, "discriminator", "d3")});
  EXPECT_THAT(Texts(merge.Release()), ElementsAre("d1", "g2"));
  EXPECT_THAT(Texts(merge.Release()), ElementsAre("d3"));
  EXPECT_THAT(merge.Release(), IsEmpty());
}

TEST(LogMergeTest, WhatIsLeftAtTheEndIsInOneOrder) {
  LogMerge merge;
  merge.Add({At(5, "generator", "g5")});
  EXPECT_THAT(merge.Release(), IsEmpty());
  merge.Add({At(6, "generator", "g6")});
  merge.Add({At(4, "discriminator", "d4"), At(7, "discriminator", "d7")});
  EXPECT_THAT(Texts(merge.Drain()), ElementsAre("d4", "g5", "g6", "d7"));
}

TEST(LogMergeTest, AFloodIsCutAndCountedForEachProcess) {
  std::vector<LogEntry> entries;
  for (int i = 0; i < 5; ++i) {
    entries.push_back(At(i, "generator", absl::StrCat("g", i)));
  }
  entries.insert(entries.begin() + 3, At(3, "discriminator", "d"));
  EXPECT_THAT(Texts(LimitLines(entries, 2)),
              ElementsAre("g0", "g1", "d", HasSubstr("3 lines left out")));
  EXPECT_THAT(Texts(LimitLines(entries, 5)),
              ElementsAre("g0", "g1", "g2", "d", "g3", "g4"));
}

}  // namespace
}  // namespace gandem
