// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/process/thread.h"
#include "tests/testing/eventually.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// A dataset whose image i is i / 1000, twice, with the label i.
class FakeDataset : public Dataset {
 public:
  explicit FakeDataset(int64_t size, int64_t bad_image = -1)
      : size_(size), bad_image_(bad_image) {}
  int64_t size() const override { return size_; }
  ImageShape shape() const override {
    return {.channels = 1, .height = 1, .width = 2};
  }
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& /*stored*/,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float> out) const override {
    if (index == bad_image_) return absl::DataLossError("bad image");
    out[0] = out[1] = static_cast<float>(index) / 1000;
    return index;
  }
  absl::StatusOr<std::string> ContentHash() const override { return "fake"; }

 private:
  const int64_t size_;
  const int64_t bad_image_;
};

std::unique_ptr<Prefetcher> Start(Prefetcher::Options options,
                                  int64_t size = 10) {
  return *Prefetcher::Create(std::make_shared<FakeDataset>(size), options);
}

// Returns the images of step `u`, by the definition in design.md section 5.
std::vector<int64_t> Expected(int64_t u, int64_t batch, int64_t first,
                              int64_t count, int64_t size = 10) {
  const DataOrder order(/*seed=*/1, size);
  std::vector<int64_t> images;
  for (int64_t j = first; j < first + count; ++j) {
    const int64_t n = u * batch + j;
    images.push_back(order.Permute(n / size, n % size));
  }
  return images;
}

// A dataset whose image contains the number of the sample being read.
class NumberedDataset : public FakeDataset {
 public:
  using FakeDataset::FakeDataset;
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& /*stored*/,
                                 std::optional<SampleKey> key,
                                 std::span<float> out) const override {
    EXPECT_EQ(key->seed, 1u);
    out[0] = out[1] = static_cast<float>(key->number);
    return index;
  }
};

TEST(PrefetcherTest, ImagesAreReadWithTheSampleNumbersOfTheRun) {
  const auto prefetcher = *Prefetcher::Create(
      std::make_shared<NumberedDataset>(10), {.seed = 1,
                                              .first_step = 5,
                                              .batch_size = 4,
                                              .first_image = 1,
                                              .num_images = 2});
  ASSERT_OK_AND_ASSIGN(const RealBatch batch, prefetcher->Next(Soon()));
  for (int i = 0; i < 2; ++i) {
    float pixel = 0;
    std::memcpy(&pixel, batch.pixels.data() + i * 2 * sizeof(pixel),
                sizeof(pixel));
    EXPECT_EQ(pixel, 5 * 4 + 1 + i);
  }
}

// Step 5 has the batches 15, 16 and 17.
TEST(PrefetcherTest, AStepHasItsPartOfEachOfItsBatches) {
  const auto prefetcher = *Prefetcher::Create(
      std::make_shared<NumberedDataset>(10), {.seed = 1,
                                              .first_step = 5,
                                              .batch_size = 4,
                                              .batches = 3,
                                              .first_image = 1,
                                              .num_images = 2});
  for (const int64_t step : {5, 6}) {
    ASSERT_OK_AND_ASSIGN(const RealBatch batch, prefetcher->Next(Soon()));
    EXPECT_EQ(batch.step, step);
    ASSERT_EQ(batch.pixels.size(), 6 * 2 * sizeof(float));
    for (int i = 0; i < 6; ++i) {
      float pixel = 0;
      std::memcpy(&pixel, batch.pixels.data() + i * 2 * sizeof(pixel),
                  sizeof(pixel));
      EXPECT_EQ(pixel, (step * 3 + i / 2) * 4 + 1 + i % 2);
    }
  }
}

TEST(PrefetcherTest, StepsAreDeliveredInOrder) {
  const auto prefetcher = Start({.seed = 1, .batch_size = 4});
  for (int64_t u = 0; u < 20; ++u) {
    ASSERT_OK_AND_ASSIGN(const RealBatch batch, prefetcher->Next(Soon()));
    EXPECT_EQ(batch.step, u);
    EXPECT_EQ(batch.first_image, 0);
    EXPECT_THAT(batch.labels, ElementsAreArray(Expected(u, 4, 0, 4)));
    ASSERT_EQ(batch.pixels.size(), 4 * 2 * sizeof(float));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.pixels.data()) % 64, 0u);
    for (int i = 0; i < 4; ++i) {
      float pixel[2];
      std::memcpy(pixel, batch.pixels.data() + i * sizeof(pixel),
                  sizeof(pixel));
      EXPECT_EQ(pixel[0], static_cast<float>(batch.labels[i]) / 1000);
      EXPECT_EQ(pixel[1], pixel[0]);
    }
  }
}

TEST(PrefetcherTest, TheDepthChangesNothing) {
  for (const int64_t depth : {1, 2, 17}) {
    const auto prefetcher = Start({.seed = 1, .batch_size = 3, .depth = depth});
    for (int64_t u = 0; u < 30; ++u) {
      EXPECT_THAT(prefetcher->Next(Soon())->labels,
                  ElementsAreArray(Expected(u, 3, 0, 3)));
    }
  }
}

TEST(PrefetcherTest, AResumedRunStartsAtItsStep) {
  const auto prefetcher =
      Start({.seed = 1, .first_step = 1234567, .batch_size = 4});
  for (int64_t u = 1234567; u < 1234570; ++u) {
    ASSERT_OK_AND_ASSIGN(const RealBatch batch, prefetcher->Next(Soon()));
    EXPECT_EQ(batch.step, u);
    EXPECT_THAT(batch.labels, ElementsAreArray(Expected(u, 4, 0, 4)));
  }
}

TEST(PrefetcherTest, RanksShareABatch) {
  const auto first = Start({.seed = 1, .batch_size = 5, .num_images = 3});
  const auto second = Start({.seed = 1, .batch_size = 5, .first_image = 3});
  for (int64_t u = 0; u < 5; ++u) {
    EXPECT_THAT(first->Next(Soon())->labels,
                ElementsAreArray(Expected(u, 5, 0, 3)));
    ASSERT_OK_AND_ASSIGN(const RealBatch batch, second->Next(Soon()));
    EXPECT_EQ(batch.first_image, 3);
    EXPECT_THAT(batch.labels, ElementsAreArray(Expected(u, 5, 3, 2)));
  }
}

TEST(PrefetcherTest, ABatchMayBeLargerThanTheDataset) {
  const auto prefetcher = Start({.seed = 1, .batch_size = 7}, /*size=*/3);
  for (int64_t u = 0; u < 4; ++u) {
    EXPECT_THAT(prefetcher->Next(Soon())->labels,
                ElementsAreArray(Expected(u, 7, 0, 7, 3)));
  }
}

TEST(PrefetcherTest, FailureIsSticky) {
  // Image 4 is in one of the first five batches of two.
  const auto prefetcher =
      *Prefetcher::Create(std::make_shared<FakeDataset>(10, /*bad_image=*/4),
                          {.seed = 1, .batch_size = 2});
  int64_t u = 0;
  absl::StatusOr<RealBatch> batch = prefetcher->Next(Soon());
  for (; batch.ok(); batch = prefetcher->Next(Soon())) {
    EXPECT_THAT(batch->labels, ElementsAreArray(Expected(u++, 2, 0, 2)));
  }
  EXPECT_THAT(Expected(u, 2, 0, 2), ::testing::Contains(4));
  const auto is_failure =
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr("discriminator step"), HasSubstr("bad image")));
  EXPECT_THAT(batch, is_failure);
  EXPECT_THAT(prefetcher->Next(Soon()), is_failure);
}

TEST(PrefetcherTest, CloseEndsWithTheReasonGiven) {
  const auto prefetcher = Start({.seed = 1, .batch_size = 2});
  prefetcher->Close(absl::CancelledError("enough"));
  absl::StatusOr<RealBatch> batch = prefetcher->Next(Soon());
  while (batch.ok()) batch = prefetcher->Next(Soon());
  EXPECT_THAT(batch, StatusIs(absl::StatusCode::kCancelled, "enough"));
}

// The prefetcher's thread waits for space; the destructor must wake it.
TEST(PrefetcherTest, DestructionWakesAThreadAtAFullQueue) {
  const auto prefetcher = Start({.seed = 1, .batch_size = 2, .depth = 1});
  ASSERT_OK(prefetcher->Next(Soon()));
}

class StuckDataset : public FakeDataset {
 public:
  explicit StuckDataset(absl::Notification* go) : FakeDataset(10), go_(go) {}
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& stored,
                                 std::optional<SampleKey> key,
                                 std::span<float> out) const override {
    go_->WaitForNotification();
    return FakeDataset::Finish(index, stored, key, out);
  }

 private:
  absl::Notification* const go_;
};

TEST(PrefetcherTest, DeadlinesChangeNothing) {
  absl::Notification go;
  const auto prefetcher = *Prefetcher::Create(
      std::make_shared<StuckDataset>(&go), {.seed = 1, .batch_size = 2});
  EXPECT_THAT(prefetcher->Next(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  go.Notify();
  EXPECT_EQ(prefetcher->Next(Soon())->step, 0);
}

// A dataset whose image i is stored as `bytes` bytes, beginning with i; Fetch
// waits for permission.
class StoredDataset : public FakeDataset {
 public:
  explicit StoredDataset(int64_t size, int64_t bytes = 1)
      : FakeDataset(size), bytes_(static_cast<size_t>(bytes)) {}

  absl::StatusOr<StoredSample> Fetch(int64_t index) const override {
    absl::MutexLock lock(&mu_);
    ++fetching_;
    most_fetching_ = std::max(most_fetching_, fetching_);
    mu_.Await(absl::Condition(this, &StoredDataset::MayEnd));
    --fetching_;
    if (allowed_ != kAlways) --allowed_;
    ++fetched_;
    if (index == lost_image_) return absl::NotFoundError("lost image");
    return StoredSample{.image = std::string(bytes_, static_cast<char>(index))};
  }
  absl::StatusOr<int64_t> Finish(int64_t index, const StoredView& stored,
                                 std::optional<SampleKey> key,
                                 std::span<float> out) const override {
    EXPECT_EQ(stored.image, std::string(bytes_, static_cast<char>(index)));
    return FakeDataset::Finish(index, stored, key, out);
  }

  // Allows `fetches` more fetches to end.
  void Allow(int64_t fetches) {
    absl::MutexLock lock(&mu_);
    allowed_ = fetches;
  }
  void LoseImage(int64_t index) { lost_image_ = index; }
  // Waits until so many fetches are in progress; returns false after a timeout.
  bool HasUnderWay(int64_t fetches) const {
    absl::MutexLock lock(&mu_);
    const auto is_so = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return fetching_ == fetches;
    };
    return mu_.AwaitWithDeadline(absl::Condition(&is_so), Soon());
  }
  int64_t fetched() const {
    absl::MutexLock lock(&mu_);
    return fetched_;
  }
  int64_t most_fetching() const {
    absl::MutexLock lock(&mu_);
    return most_fetching_;
  }

  static constexpr int64_t kAlways = -1;

 private:
  bool MayEnd() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return allowed_ != 0; }

  const size_t bytes_;
  int64_t lost_image_ = -1;
  mutable absl::Mutex mu_;
  mutable int64_t allowed_ ABSL_GUARDED_BY(mu_) = kAlways;
  mutable int64_t fetching_ ABSL_GUARDED_BY(mu_) = 0;
  mutable int64_t most_fetching_ ABSL_GUARDED_BY(mu_) = 0;
  mutable int64_t fetched_ ABSL_GUARDED_BY(mu_) = 0;
};

std::vector<std::byte> BytesOf(const RealBatch& batch) {
  return {batch.pixels.span().begin(), batch.pixels.span().end()};
}

TEST(PrefetcherTest, ThreadsAndFetchesChangeNothing) {
  std::vector<std::vector<std::byte>> expected;
  const auto in_memory = Start({.seed = 1, .batch_size = 7}, /*size=*/100);
  for (int u = 0; u < 60; ++u) {
    expected.push_back(BytesOf(*in_memory->Next(Soon())));
  }
  for (const int threads : {1, 2, 16}) {
    const auto prefetcher = *Prefetcher::Create(
        std::make_shared<StoredDataset>(100), {.seed = 1,
                                               .batch_size = 7,
                                               .depth = 3,
                                               .max_fetches = threads,
                                               .max_workers = threads});
    for (int64_t u = 0; u < 60; ++u) {
      ASSERT_OK_AND_ASSIGN(const RealBatch batch, prefetcher->Next(Soon()));
      EXPECT_EQ(batch.step, u);
      EXPECT_THAT(batch.labels, ElementsAreArray(Expected(u, 7, 0, 7, 100)));
      EXPECT_EQ(BytesOf(batch), expected[static_cast<size_t>(u)]);
    }
  }
}

TEST(PrefetcherTest, SlowFetchesReachTheConfiguredNumberInProgress) {
  const auto dataset = std::make_shared<StoredDataset>(100);
  dataset->Allow(1);  // the first one reveals the size
  const auto prefetcher =
      *Prefetcher::Create(dataset, {.seed = 1, .batch_size = 4, .depth = 8});
  const int fetches = prefetcher->TakeStats().setting.fetches;
  EXPECT_GT(fetches, 1);
  EXPECT_TRUE(dataset->HasUnderWay(fetches));
  EXPECT_THAT(prefetcher->Next(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  dataset->Allow(StoredDataset::kAlways);
  EXPECT_OK(prefetcher->Next(Soon()));
  EXPECT_LE(dataset->most_fetching(), 64);
}

TEST(PrefetcherTest, WaitingSamplesRespectTheMemoryLimit) {
  constexpr int64_t kBytes = 1000;
  const auto dataset = std::make_shared<StoredDataset>(100, kBytes);
  // A finished sample takes 8 bytes, so at most 9 samples are fetched at once.
  // Memory for two batches is reserved for the trainer.
  const auto prefetcher = *Prefetcher::Create(
      dataset, {.seed = 1,
                .batch_size = 2,
                .depth = 1000,
                .memory_bytes = 10 * (kBytes + 8) - 1 + 2 * 2 * 8,
                .max_fetches = 50,
                .max_workers = 1});
  for (int i = 0; i < 100; ++i) ASSERT_OK(prefetcher->Next(Soon()));
  EXPECT_LE(dataset->most_fetching(), 9);
}

TEST(PrefetcherTest, ABatchLargerThanTheMemoryLimitIsRead) {
  const auto dataset = std::make_shared<StoredDataset>(100, 1000);
  const auto prefetcher = *Prefetcher::Create(
      dataset, {.seed = 1, .batch_size = 5, .memory_bytes = 1});
  for (int64_t u = 0; u < 10; ++u) {
    EXPECT_THAT(prefetcher->Next(Soon())->labels,
                ElementsAreArray(Expected(u, 5, 0, 5, 100)));
  }
}

TEST(PrefetcherTest, WithoutAConsumerThePrefetcherIsIdle) {
  testing::FakeClock clock;
  const auto dataset = std::make_shared<StoredDataset>(100);
  const auto prefetcher = *Prefetcher::Create(
      dataset, {.seed = 1, .batch_size = 4, .depth = 3, .clock = &clock});
  // The clock does not advance, so the setting is unchanged.
  const int64_t ahead = prefetcher->TakeStats().setting.ahead;
  EXPECT_GE(ahead, 3 * 4);
  ASSERT_OK(prefetcher->Next(Soon()));
  EXPECT_TRUE(testing::Eventually(
      [&] { return prefetcher->TakeStats().waiting == ahead; }));
  clock.Advance(absl::Minutes(1));
  EXPECT_TRUE(dataset->HasUnderWay(0));
  EXPECT_EQ(dataset->fetched(), 4 + ahead);
  EXPECT_OK(prefetcher->Next(Soon()));
}

TEST(PrefetcherTest, AFailedFetchIsReportedAtItsStep) {
  const auto dataset = std::make_shared<StoredDataset>(10);
  dataset->LoseImage(4);
  const auto prefetcher = *Prefetcher::Create(
      dataset, {.seed = 1, .batch_size = 2, .max_workers = 4});
  int64_t u = 0;
  absl::StatusOr<RealBatch> batch = prefetcher->Next(Soon());
  for (; batch.ok(); batch = prefetcher->Next(Soon())) {
    EXPECT_THAT(batch->labels, ElementsAreArray(Expected(u++, 2, 0, 2)));
  }
  EXPECT_THAT(Expected(u, 2, 0, 2), ::testing::Contains(4));
  EXPECT_THAT(
      prefetcher->Next(Soon()),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr(absl::StrCat("discriminator step ", u, ": lost"))));
}

class LateDataset : public FakeDataset {
 public:
  using FakeDataset::FakeDataset;
  absl::StatusOr<StoredSample> Fetch(int64_t /*index*/) const override {
    return absl::DeadlineExceededError("no answer");
  }
};

// The caller of Next would retry forever after this error.
TEST(PrefetcherTest, DeadlineExceededOfTheDatasetIsConverted) {
  const auto prefetcher = *Prefetcher::Create(std::make_shared<LateDataset>(10),
                                              {.seed = 1, .batch_size = 2});
  EXPECT_THAT(prefetcher->Next(Soon()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no answer")));
}

// While a fetch waits, no batch is ready; the destructor waits for the fetch.
TEST(PrefetcherTest, CloseWakesACallerThatWaitsForASlowFetch) {
  const auto dataset = std::make_shared<StoredDataset>(10);
  dataset->Allow(0);
  const auto prefetcher =
      *Prefetcher::Create(dataset, {.seed = 1, .batch_size = 2});
  ASSERT_TRUE(dataset->HasUnderWay(1));
  Thread closer("closer",
                [&] { prefetcher->Close(absl::CancelledError("enough")); });
  EXPECT_THAT(prefetcher->Next(Soon()),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  closer.Join();
  dataset->Allow(StoredDataset::kAlways);
}

TEST(PrefetcherTest, CloseWorksBeforeTheFirstBatchAndAfterAFailure) {
  const auto dataset = std::make_shared<StoredDataset>(10);
  for (const bool fails : {false, true}) {
    dataset->LoseImage(fails ? Expected(0, 2, 0, 2).front() : -1);
    const auto prefetcher =
        *Prefetcher::Create(dataset, {.seed = 1, .batch_size = 2});
    if (fails) {
      EXPECT_THAT(prefetcher->Next(Soon()),
                  StatusIs(absl::StatusCode::kNotFound));
    }
    prefetcher->Close(absl::CancelledError("enough"));
    absl::StatusOr<RealBatch> batch = prefetcher->Next(Soon());
    while (batch.ok()) batch = prefetcher->Next(Soon());
    EXPECT_THAT(batch, StatusIs(fails ? absl::StatusCode::kNotFound
                                      : absl::StatusCode::kCancelled));
  }
}

TEST(PrefetcherTest, StatsNameTheCauseOfWaits) {
  testing::FakeClock clock;
  const auto dataset = std::make_shared<StoredDataset>(10, /*bytes=*/7);
  dataset->Allow(0);
  const auto prefetcher = *Prefetcher::Create(
      dataset, {.seed = 1, .batch_size = 2, .depth = 1, .clock = &clock});
  ASSERT_TRUE(dataset->HasUnderWay(1));
  absl::Notification taken;
  Thread taker("taker", [&] {
    EXPECT_OK(prefetcher->Next(Soon()));
    taken.Notify();
  });
  // The consumer checks the clock every 100 ms.
  EXPECT_TRUE(testing::Eventually([&] {
    clock.Advance(absl::Seconds(1));
    return prefetcher->TakeStats().fetch_stall_seconds > 0;
  }));
  dataset->Allow(StoredDataset::kAlways);
  taken.WaitForNotification();
  taker.Join();
  EXPECT_EQ(prefetcher->TakeStats().finish_stall_seconds, 0);
}

TEST(PrefetcherTest, DataInMemoryNeedsNoFetches) {
  const auto prefetcher = Start({.seed = 1, .batch_size = 4, .depth = 2});
  ASSERT_OK(prefetcher->Next(Soon()));
  const FeedStats stats = prefetcher->TakeStats();
  EXPECT_EQ(stats.setting.fetches, 0);
  EXPECT_EQ(stats.stored_bytes, 0);
  EXPECT_GE(stats.finished, 4);
}

TEST(PrefetcherTest, CreateReportsEveryFault) {
  const auto dataset = std::make_shared<FakeDataset>(10);
  EXPECT_THAT(Prefetcher::Create(dataset, {.first_step = -1, .depth = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("first_step -1"),
                             HasSubstr("batch_size 0"), HasSubstr("depth 0"))));
  EXPECT_THAT(
      Prefetcher::Create(dataset,
                         {.batch_size = 4, .first_image = 2, .num_images = 3}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("num_images 3 is not in [0, 2]")));
}

}  // namespace
}  // namespace gandem
