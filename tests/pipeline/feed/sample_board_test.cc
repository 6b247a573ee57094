// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/sample_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;

constexpr absl::Time kNow = absl::UnixEpoch();

// Batches of 2 samples of one float; 4 fetches and 100 samples ahead.
class SampleBoardTest : public ::testing::Test {
 protected:
  explicit SampleBoardTest(int64_t memory_bytes = 1 << 20)
      : board_({.batch_samples = 2,
                .sample_values = 1,
                .memory_bytes = memory_bytes}) {
    board_.Set(
        {.fetches = 4, .workers = 1, .ahead = 100, .finished_ahead = 100});
  }

  KeptSample Bytes(int64_t count) {
    return {.image = chunks_.Keep(std::string(count, 'x'))};
  }
  // Fetches the first sample, which is always fetched alone.
  void FetchFirst(int64_t bytes = 10) {
    ASSERT_EQ(board_.BeginFetch(), 0);
    board_.EndFetch(0, Bytes(bytes), kNow);
  }
  // Begins all fetches that are allowed and returns their samples.
  std::vector<int64_t> BeginFetches() {
    std::vector<int64_t> positions;
    while (board_.CanFetch()) positions.push_back(board_.BeginFetch());
    return positions;
  }
  void Fetched(int64_t position, int64_t bytes = 10) {
    board_.EndFetch(position, Bytes(bytes), kNow);
  }
  // Finishes the lowest sample, with its position as label.
  int64_t FinishOne() {
    const SampleBoard::Work work = board_.BeginFinish();
    EXPECT_EQ(work.count, 1);
    board_.EndFinish(work, {work.first});
    return work.first;
  }
  std::vector<int64_t> TakenLabels() { return board_.Take()->labels; }

  ByteChunks chunks_;
  SampleBoard board_;
};

TEST_F(SampleBoardTest, TheFirstSampleIsFetchedAloneThenSeveral) {
  EXPECT_THAT(BeginFetches(), ElementsAre(0));
  Fetched(0);
  EXPECT_THAT(BeginFetches(), ElementsAre(1, 2, 3, 4));
  Fetched(3);
  EXPECT_THAT(BeginFetches(), ElementsAre(5));
  board_.Set({.fetches = 1, .workers = 1, .ahead = 100, .finished_ahead = 100});
  Fetched(1);
  EXPECT_THAT(BeginFetches(), ElementsAre());
}

TEST_F(SampleBoardTest, FetchesAreLimitedByAhead) {
  board_.Set({.fetches = 9, .workers = 1, .ahead = 3, .finished_ahead = 3});
  FetchFirst();
  EXPECT_THAT(BeginFetches(), ElementsAre(1, 2));
  Fetched(1);
  FinishOne();
  FinishOne();
  EXPECT_THAT(BeginFetches(), ElementsAre());  // nothing was taken
  EXPECT_THAT(TakenLabels(), ElementsAre(0, 1));
  EXPECT_THAT(BeginFetches(), ElementsAre(3, 4));
}

TEST_F(SampleBoardTest, OneBatchIsFetchedWhateverTheSetting) {
  board_.Set({.fetches = 0, .workers = 0, .ahead = 0, .finished_ahead = 0});
  FetchFirst();
  EXPECT_THAT(BeginFetches(), ElementsAre(1));
}

TEST_F(SampleBoardTest, BatchesAreTakenInOrderWhateverEndsFirst) {
  FetchFirst();
  BeginFetches();
  for (const int64_t position : {3, 2, 1}) Fetched(position);
  EXPECT_EQ(FinishOne(), 0);
  const SampleBoard::Work slow = board_.BeginFinish();
  EXPECT_EQ(slow.first, 1);
  EXPECT_EQ(FinishOne(), 2);
  EXPECT_EQ(FinishOne(), 3);
  EXPECT_FALSE(board_.CanTake());
  board_.EndFinish(slow, {1});
  ASSERT_TRUE(board_.CanTake());
  EXPECT_THAT(TakenLabels(), ElementsAre(0, 1));
  ASSERT_TRUE(board_.CanTake());
  EXPECT_THAT(TakenLabels(), ElementsAre(2, 3));
  EXPECT_FALSE(board_.CanTake());
  EXPECT_EQ(board_.taken(), 4);
}

TEST_F(SampleBoardTest, SamplesOfABatchAreContiguous) {
  FetchFirst();
  BeginFetches();
  Fetched(1);
  const SampleBoard::Work first = board_.BeginFinish();
  const SampleBoard::Work second = board_.BeginFinish();
  *first.pixels = 5;
  *second.pixels = 6;
  board_.EndFinish(second, {1});
  board_.EndFinish(first, {0});
  const SampleBoard::Batch batch = *board_.Take();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.pixels.get()) % 64, 0u);
  EXPECT_EQ(batch.pixels.get()[0], 5);
  EXPECT_EQ(batch.pixels.get()[1], 6);
}

TEST_F(SampleBoardTest, SamplesInMemoryAreFinishedInRunsWithoutFetches) {
  FetchFirst(/*bytes=*/0);
  EXPECT_TRUE(board_.in_memory());
  EXPECT_FALSE(board_.CanFetch());
  EXPECT_EQ(FinishOne(), 0);
  // Runs end with their batch.
  for (const auto& [first, count] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 2}, {4, 2}}) {
    const SampleBoard::Work work = board_.BeginFinish();
    EXPECT_EQ(work.first, first);
    EXPECT_EQ(work.count, count);
    EXPECT_FALSE(work.stored.has_value());
  }
}

TEST_F(SampleBoardTest, RunsEndWhereAheadEnds) {
  board_.Set({.fetches = 1, .workers = 1, .ahead = 3, .finished_ahead = 3});
  FetchFirst(/*bytes=*/0);
  FinishOne();
  EXPECT_EQ(board_.BeginFinish().count, 1);
  EXPECT_EQ(board_.BeginFinish().count, 1);
  EXPECT_FALSE(board_.CanFinish());
}

TEST_F(SampleBoardTest, BatchesBeforeAFailureAreStillCompleted) {
  FetchFirst();
  BeginFetches();  // 1 to 4
  board_.EndFetch(3, absl::DataLossError("third"), kNow);
  EXPECT_THAT(BeginFetches(), ElementsAre());
  Fetched(4);  // not used
  Fetched(1);
  FinishOne();
  FinishOne();
  EXPECT_FALSE(board_.CanFinish());
  EXPECT_THAT(TakenLabels(), ElementsAre(0, 1));
  // Sample 2 may also fail.
  EXPECT_FALSE(board_.CanTake());
  Fetched(2);
  FinishOne();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(board_.CanTake());
    EXPECT_THAT(board_.Take(), StatusIs(absl::StatusCode::kDataLoss, "third"));
  }
}

TEST_F(SampleBoardTest, TheLowestOfSeveralFailuresIsReported) {
  FetchFirst();
  BeginFetches();
  board_.EndFetch(3, absl::DataLossError("third"), kNow);
  board_.EndFetch(1, absl::DataLossError("first"), kNow);
  board_.EndFetch(2, absl::DataLossError("second"), kNow);
  EXPECT_FALSE(board_.CanTake());
  FinishOne();
  ASSERT_TRUE(board_.CanTake());
  EXPECT_THAT(board_.Take(), StatusIs(absl::StatusCode::kDataLoss, "first"));
}

TEST_F(SampleBoardTest, TheFirstSampleMayFail) {
  board_.BeginFetch();
  board_.EndFetch(0, absl::NotFoundError("gone"), kNow);
  ASSERT_TRUE(board_.CanTake());
  EXPECT_THAT(board_.Take(), StatusIs(absl::StatusCode::kNotFound, "gone"));
  EXPECT_FALSE(board_.CanFetch());
}

TEST_F(SampleBoardTest, ARunThatFailsInItsMiddleKeepsEarlierSamples) {
  FetchFirst(/*bytes=*/0);
  FinishOne();
  FinishOne();
  const SampleBoard::Work work = board_.BeginFinish();
  ASSERT_EQ(work.count, 2);
  board_.EndFinish(work, {2});
  board_.Fail(3, absl::DataLossError("bad"));
  EXPECT_FALSE(board_.CanFinish());
  EXPECT_THAT(TakenLabels(), ElementsAre(0, 1));
  ASSERT_TRUE(board_.CanTake());
  EXPECT_THAT(board_.Take(), StatusIs(absl::StatusCode::kDataLoss, "bad"));
}

TEST_F(SampleBoardTest, AWaitIsForFetchesUntilTheLastSampleOfTheBatchArrives) {
  const absl::Time end = kNow + absl::Seconds(10);
  EXPECT_EQ(board_.FetchedAt(kNow, end), end);
  FetchFirst();
  BeginFetches();
  EXPECT_EQ(board_.FetchedAt(kNow, end), end);
  board_.EndFetch(1, Bytes(10), kNow + absl::Seconds(3));
  EXPECT_EQ(board_.FetchedAt(kNow, end), kNow + absl::Seconds(3));
  EXPECT_EQ(board_.FetchedAt(kNow + absl::Seconds(4), end),
            kNow + absl::Seconds(4));
}

// Tests with 4 bytes per finished sample and 10 per stored sample.
class TightSampleBoardTest : public SampleBoardTest {
 protected:
  TightSampleBoardTest() : SampleBoardTest(/*memory_bytes=*/45) {}
};

TEST_F(TightSampleBoardTest, SamplesCountWithTheirStoredAndFinishedBytes) {
  FetchFirst();
  EXPECT_EQ(board_.used_bytes(), 14);
  EXPECT_THAT(BeginFetches(), ElementsAre(1, 2));  // 42 bytes
  EXPECT_EQ(board_.used_bytes(), 42);
  Fetched(1);
  Fetched(2);
  EXPECT_EQ(board_.used_bytes(), 42);
  FinishOne();  // frees its stored bytes
  EXPECT_EQ(board_.used_bytes(), 32);
  EXPECT_EQ(board_.waiting(), 3);
  FinishOne();
  EXPECT_EQ(board_.used_bytes(), 22);
  EXPECT_THAT(BeginFetches(), ElementsAre(3));
  TakenLabels();
  EXPECT_EQ(board_.used_bytes(), 28);
}

TEST_F(TightSampleBoardTest, SamplesBeyondFinishedAheadStayStored) {
  board_.Set({.fetches = 9, .workers = 1, .ahead = 100, .finished_ahead = 2});
  FetchFirst(/*bytes=*/2);
  // The first two samples take 6 bytes each, the others 2 each.
  const std::vector<int64_t> begun = BeginFetches();
  EXPECT_EQ(begun.size(), 9u);
  EXPECT_EQ(board_.used_bytes(), 2 * 6 + 8 * 2);
  for (const int64_t position : begun) Fetched(position, 2);
  EXPECT_EQ(FinishOne(), 0);
  EXPECT_EQ(FinishOne(), 1);
  EXPECT_FALSE(board_.CanFinish());
  EXPECT_THAT(TakenLabels(), ElementsAre(0, 1));
  EXPECT_EQ(board_.used_bytes(), 8 * 2);
  EXPECT_EQ(FinishOne(), 2);
  EXPECT_EQ(FinishOne(), 3);
  EXPECT_FALSE(board_.CanFinish());
  // More samples are finished while they fit: 7 of 4 bytes, 5 + 2 stored.
  board_.Set({.fetches = 1, .workers = 1, .ahead = 100, .finished_ahead = 100});
  while (board_.CanFinish()) FinishOne();
  EXPECT_LE(board_.used_bytes(), 45);
  EXPECT_EQ(board_.waiting(), 8);
}

TEST_F(TightSampleBoardTest, TheNextBatchIsFetchedWhateverItsSize) {
  FetchFirst(/*bytes=*/1000);
  EXPECT_THAT(BeginFetches(), ElementsAre(1));
  Fetched(1, 1000);
  EXPECT_THAT(BeginFetches(), ElementsAre());
  FinishOne();
  FinishOne();
  EXPECT_THAT(BeginFetches(), ElementsAre());
  TakenLabels();
  EXPECT_THAT(BeginFetches(), ElementsAre(2, 3));
}

TEST_F(TightSampleBoardTest, ALargeSampleIsForgotten) {
  FetchFirst(/*bytes=*/1000);
  // All other samples have 10 bytes; at first they are fetched one by one.
  int64_t together = 1;
  for (int64_t position = 1; together < 3 && position < 2000; ++position) {
    const std::vector<int64_t> begun = BeginFetches();
    together = static_cast<int64_t>(begun.size());
    for (const int64_t sample : begun) Fetched(sample);
    while (board_.CanFinish()) FinishOne();
    while (board_.CanTake()) TakenLabels();
  }
  EXPECT_EQ(together, 2);
  EXPECT_GT(board_.taken(), 1000);
}

TEST_F(TightSampleBoardTest, RunsInMemoryRespectTheMemoryLimit) {
  FetchFirst(/*bytes=*/0);
  int64_t begun = FinishOne() + 1;
  while (board_.CanFinish()) begun += board_.BeginFinish().count;
  EXPECT_EQ(begun, 45 / 4);
}

}  // namespace
}  // namespace gandem
