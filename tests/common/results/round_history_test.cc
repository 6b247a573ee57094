// SPDX-License-Identifier: Apache-2.0
#include "common/results/round_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/proto_json.h"
#include "common/results/training_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

RoundMetrics Metrics(Role role, int rank, int64_t epoch, int64_t round) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_rank(rank);
  metrics.set_run_epoch(epoch);
  metrics.set_round(round);
  return metrics;
}

TEST(RoundHistoryTest, ReadsTheWorkersReportsInTheCoordinatorsFormat) {
  RoundMetrics metrics = Metrics(DISCRIMINATOR, 1, 2, 30);
  metrics.set_images(32);
  metrics.set_round_seconds(1.5);
  metrics.set_wait_images_seconds(0.125);
  metrics.set_wait_feedback_seconds(0.25);
  metrics.set_wait_data_seconds(0.0625);
  metrics.set_wait_cache_seconds(0.03125);
  metrics.set_wait_sync_seconds(0.5);
  metrics.set_hidden_sync_seconds(0.75);
  metrics.set_sync_bytes(4096);
  metrics.set_workers(3);
  metrics.mutable_data()->set_fetch_stall_seconds(0.015625);
  metrics.mutable_data()->set_decode_stall_seconds(0.03125);
  metrics.mutable_data()->set_transform_stall_seconds(0.0078125);
  RoundHistory history;
  history.AddLine(ProtoJson(metrics));
  const RoundRecord& record = history.rounds().at({DISCRIMINATOR, 1}).at(30);
  EXPECT_EQ(record.run_epoch, 2);
  EXPECT_EQ(record.workers, 3);
  EXPECT_EQ(record.images, 32);
  EXPECT_EQ(record.sync_bytes, 4096);
  const RoundTimes expected = TimesOf(metrics);
  EXPECT_EQ(record.times.round, expected.round);
  EXPECT_EQ(record.times.images, expected.images);
  EXPECT_EQ(record.times.feedback, expected.feedback);
  EXPECT_EQ(record.times.data, expected.data);
  EXPECT_EQ(record.times.cache, expected.cache);
  EXPECT_EQ(record.times.sync, expected.sync);
  EXPECT_EQ(record.times.hidden_sync, expected.hidden_sync);
  EXPECT_EQ(record.times.data_fetch, 0.015625);
  EXPECT_EQ(record.times.data_decode, 0.03125);
  EXPECT_EQ(record.times.data_transform, 0.0078125);
  EXPECT_STREQ(record.times.data_stage(), "decode");
  EXPECT_EQ(record.times.compute(),
            1.5 - 0.125 - 0.25 - 0.0625 - 0.03125 - 0.5);
  EXPECT_EQ(record.times.overlap(), 0.6);
  EXPECT_EQ(history.unreadable_lines(), 0);
}

TEST(RoundHistoryTest, HealthWarningsAreReportedOnce) {
  RoundHistory history;
  for (const int64_t epoch : {1, 2}) {
    RoundMetrics metrics = Metrics(GENERATOR, 0, epoch, 24);
    metrics.add_health()->set_text("b");
    history.AddLine(ProtoJson(metrics));
    metrics = Metrics(DISCRIMINATOR, 0, epoch, 9);
    metrics.add_health()->set_text("c");
    metrics.add_health()->set_text("a");
    history.AddLine(ProtoJson(metrics));
  }
  EXPECT_THAT(history.warnings(), ::testing::ElementsAre("a", "c", "b"));
  history.AddLine(R"({"role": "generator", "round": 1, "health": [1, {}]})");
  EXPECT_EQ(history.unreadable_lines(), 1);
}

TEST(RoundHistoryTest, TheHighestEpochOfARepeatedRoundCounts) {
  RoundHistory history;
  for (const int64_t epoch : {1, 3, 2}) {
    RoundMetrics metrics = Metrics(GENERATOR, 0, epoch, 5);
    metrics.set_images(10 * epoch);
    history.AddLine(ProtoJson(metrics));
  }
  ASSERT_EQ(history.rounds().size(), 1);
  ASSERT_EQ(history.rounds().at({GENERATOR, 0}).size(), 1);
  EXPECT_EQ(history.rounds().at({GENERATOR, 0}).at(5).images, 30);
}

TEST(RoundHistoryTest, ManyRoundsAreCompactedWithTheSameSums) {
  RoundHistory history(/*max_records=*/64);
  constexpr int64_t kRounds = 5000;
  for (int64_t round = 0; round < kRounds; ++round) {
    RoundMetrics metrics = Metrics(DISCRIMINATOR, 0, 1, round);
    metrics.set_images(8);
    metrics.set_round_seconds(0.5);
    metrics.set_wait_data_seconds(0.125);
    metrics.set_loss(round == 4321 ? 100 : 1);
    metrics.set_lag(round % 2);
    history.AddLine(ProtoJson(metrics));
  }
  const auto& records = history.rounds().at({DISCRIMINATOR, 0});
  EXPECT_LE(records.size(), 64u);
  EXPECT_GE(records.size(), 32u);
  RoundRecord all = {.rounds = 0};
  double highest = 0;
  int64_t next = 0;
  for (const auto& [last, record] : records) {
    EXPECT_EQ(record.first_round, next);
    EXPECT_EQ(record.rounds, last + 1 - next);
    next = last + 1;
    all.rounds += record.rounds;
    all.images += record.images;
    all.times += record.times;
    highest = std::max<double>(highest, record.loss_high);
    EXPECT_EQ(record.loss_low, 1);
    EXPECT_EQ(record.one_round_seconds, 0.5);
    EXPECT_NEAR(record.lag, 0.5, 1e-6);
  }
  EXPECT_EQ(all.rounds, kRounds);
  EXPECT_EQ(all.images, 8 * kRounds);
  EXPECT_EQ(all.times.round, 0.5 * kRounds);
  EXPECT_EQ(all.times.data, 0.125 * kRounds);
  EXPECT_EQ(highest, 100);
  EXPECT_EQ(TrainingClock(history).At(kRounds).images, 8 * kRounds);
  EXPECT_EQ(TrainingClock(history).At(kRounds).seconds, 0.5 * kRounds);
}

// The repetition starts in the middle of a record.
TEST(RoundHistoryTest, RepeatedRoundsInCompactedRecordsCountOnce) {
  RoundHistory history(/*max_records=*/16);
  const auto add = [&history](int64_t epoch, int64_t first, int64_t end,
                              double seconds) {
    for (int64_t round = first; round < end; ++round) {
      RoundMetrics metrics = Metrics(GENERATOR, 0, epoch, round);
      metrics.set_round_seconds(seconds);
      history.AddLine(ProtoJson(metrics));
    }
  };
  add(1, 0, 100, 1);
  add(2, 70, 120, 2);
  add(1, 90, 95, 9);  // a late record
  double seconds = 0;
  int64_t rounds = 0;
  for (const auto& [last, record] : history.rounds().at({GENERATOR, 0})) {
    seconds += record.times.round;
    rounds += record.rounds;
  }
  EXPECT_EQ(rounds, 120);
  EXPECT_NEAR(seconds, 70 * 1 + 50 * 2, 1e-9);
}

TEST(RoundHistoryTest, ReadAheadFiguresAreRead) {
  RoundMetrics metrics = Metrics(DISCRIMINATOR, 0, 1, 0);
  DataMetrics& data = *metrics.mutable_data();
  data.set_seconds(2);
  data.set_images(64);
  data.set_stored_bytes(1000);
  data.set_retries(3);
  data.set_waiting_images(5);
  data.set_fetches(6);
  data.set_workers(7);
  data.set_images_ahead(8);
  data.set_processor_seconds(0.75);
  data.set_free_cores(9);
  const auto read = ParseRoundMetrics(ProtoJson(metrics));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(ProtoJson(read->data()), ProtoJson(data));
  EXPECT_FALSE(
      ParseRoundMetrics(R"({"role":"generator","round":1})")->has_data());
  for (const char* const text :
       {"1", "[]", R"({"images":1.5})", R"({"seconds":"a"})"}) {
    EXPECT_FALSE(
        ParseRoundMetrics(
            absl::StrCat(R"({"role":"discriminator","round":1,"data":)", text,
                         "}"))
            .has_value())
        << text;
  }
}

// Converting such numbers to integers is undefined behavior.
TEST(RoundHistoryTest, NonIntegerRoundsAreInvalidRecords) {
  EXPECT_TRUE(
      ParseRoundMetrics(R"({"role":"generator","round":1})").has_value());
  for (const char* const number : {"1e300", "1.5", "true", "null"}) {
    for (const char* const key :
         {"rank", "run_epoch", "lag", "workers", "images", "sync_bytes"}) {
      EXPECT_FALSE(
          ParseRoundMetrics(absl::StrCat(R"({"role":"generator","round":1,")",
                                         key, "\":", number, "}"))
              .has_value())
          << key << " " << number;
    }
    EXPECT_FALSE(
        ParseRoundMetrics(
            absl::StrCat(R"({"role":"generator","round":)", number, "}"))
            .has_value());
  }
}

TEST(RoundHistoryTest, InvalidRecordsAreCounted) {
  const gandem::testing::TempDir dir;
  const std::string line = ProtoJson(Metrics(GENERATOR, 0, 1, 0));
  ASSERT_OK(WriteFile(dir / "metrics.jsonl",
                      line +
                          "\n{\"role\":\"gener\n[1]\n{\"role\":\"critic\"}\n" +
                          R"({"role":"generator","round":"first"})" + "\n" +
                          line.substr(0, line.size() / 2)));
  ASSERT_OK_AND_ASSIGN(const RoundHistory history,
                       RoundHistory::Read(dir.path()));
  EXPECT_EQ(history.rounds().size(), 1);
  EXPECT_EQ(history.unreadable_lines(), 5);
}

TEST(RoundHistoryTest, AllMetricsFilesAreRead) {
  const gandem::testing::TempDir dir;
  ASSERT_OK(WriteFile(dir / "metrics.jsonl",
                      ProtoJson(Metrics(GENERATOR, 0, 1, 0)) + "\n"));
  ASSERT_OK(WriteFile(dir / "metrics-1.jsonl",
                      ProtoJson(Metrics(GENERATOR, 1, 1, 0)) + "\n"));
  ASSERT_OK(WriteFile(dir / "metrics.jsonl.bak", "?\n"));
  ASSERT_OK_AND_ASSIGN(const RoundHistory history,
                       RoundHistory::Read(dir.path()));
  EXPECT_EQ(history.rounds().size(), 2);
  EXPECT_EQ(history.unreadable_lines(), 0);
}

TEST(RoundHistoryTest, MetricsWithOnlyNoiseAreReported) {
  const gandem::testing::TempDir dir;
  ASSERT_OK(WriteFile(dir / "metrics.jsonl", "x\ny\nz\n"));
  EXPECT_THAT(RoundHistory::Read(dir.path()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("3 lines")));
}

TEST(RoundHistoryTest, APipeIsRefusedWithoutBlocking) {
  const gandem::testing::TempDir dir;
  ASSERT_EQ(mkfifo(std::string(dir / "metrics.jsonl").c_str(), 0600), 0);
  EXPECT_THAT(
      RoundHistory::Read(dir.path()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a named pipe")));
}

TEST(RoundHistoryTest, ARunWithoutMetricsIsReportedWithAnAdvice) {
  const gandem::testing::TempDir dir;
  EXPECT_THAT(
      RoundHistory::Read(dir.path()),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("gandem status")));
  ASSERT_OK(WriteFile(dir / "metrics.jsonl", ""));
  EXPECT_THAT(RoundHistory::Read(dir.path()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no round")));
  EXPECT_THAT(RoundHistory::Read(dir / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace gandem
