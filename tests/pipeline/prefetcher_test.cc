// SPDX-License-Identifier: Apache-2.0
#include "pipeline/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Image i holds i / 1000, twice; its label is i.
class FakeDataset : public Dataset {
 public:
  explicit FakeDataset(int64_t size, int64_t bad_image = -1)
      : size_(size), bad_image_(bad_image) {}
  int64_t size() const override { return size_; }
  ImageShape shape() const override {
    return {.channels = 1, .height = 1, .width = 2};
  }
  absl::StatusOr<int64_t> Read(int64_t index,
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

// What step `u` must hold, from the definition in design.md section 5.
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

TEST(PrefetcherTest, DeliversTheStepsInOrder) {
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

TEST(PrefetcherTest, DepthChangesNothing) {
  for (const int64_t depth : {1, 2, 17}) {
    const auto prefetcher = Start({.seed = 1, .batch_size = 3, .depth = depth});
    for (int64_t u = 0; u < 30; ++u) {
      EXPECT_THAT(prefetcher->Next(Soon())->labels,
                  ElementsAreArray(Expected(u, 3, 0, 3)));
    }
  }
}

TEST(PrefetcherTest, StartsWhereAResumedRunGoesOn) {
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

TEST(PrefetcherTest, BatchLargerThanTheDataset) {
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

TEST(PrefetcherTest, CloseEndsWithItsReason) {
  const auto prefetcher = Start({.seed = 1, .batch_size = 2});
  prefetcher->Close(absl::CancelledError("enough"));
  absl::StatusOr<RealBatch> batch = prefetcher->Next(Soon());
  while (batch.ok()) batch = prefetcher->Next(Soon());
  EXPECT_THAT(batch, StatusIs(absl::StatusCode::kCancelled, "enough"));
}

// Its thread waits for room then; the destructor must wake it.
TEST(PrefetcherTest, StopsWhileTheQueueIsFull) {
  const auto prefetcher = Start({.seed = 1, .batch_size = 2, .depth = 1});
  ASSERT_OK(prefetcher->Next(Soon()));
}

class StuckDataset : public FakeDataset {
 public:
  explicit StuckDataset(absl::Notification* go) : FakeDataset(10), go_(go) {}
  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    go_->WaitForNotification();
    return FakeDataset::Read(index, out);
  }

 private:
  absl::Notification* const go_;
};

TEST(PrefetcherTest, DeadlineChangesNothing) {
  absl::Notification go;
  const auto prefetcher = *Prefetcher::Create(
      std::make_shared<StuckDataset>(&go), {.seed = 1, .batch_size = 2});
  EXPECT_THAT(prefetcher->Next(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  go.Notify();
  EXPECT_EQ(prefetcher->Next(Soon())->step, 0);
}

TEST(PrefetcherTest, CreateNamesEveryFault) {
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
