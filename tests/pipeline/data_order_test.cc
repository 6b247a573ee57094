// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace gandem {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> Epoch(const DataOrder& order, int64_t size,
                           int64_t epoch) {
  std::vector<int64_t> images;
  for (int64_t place = 0; place < size; ++place) {
    images.push_back(order.Permute(epoch, place));
  }
  return images;
}

bool IsPermutation(const std::vector<int64_t>& images) {
  std::vector<bool> seen(images.size());
  for (const int64_t image : images) {
    if (image < 0 || image >= static_cast<int64_t>(images.size()) ||
        seen[image]) {
      return false;
    }
    seen[image] = true;
  }
  return true;
}

TEST(DataOrderTest, EveryEpochIsAPermutation) {
  std::vector<int64_t> sizes = {127, 128, 129, 1000, 4095, 4096, 4097, 60000};
  for (int64_t size = 1; size <= 70; ++size) sizes.push_back(size);
  for (const int64_t size : sizes) {
    for (const uint64_t seed : {0ull, 1ull, ~0ull}) {
      const DataOrder order(seed, size);
      for (const int64_t epoch : {0, 1, 2, 1000000}) {
        ASSERT_TRUE(IsPermutation(Epoch(order, size, epoch)))
            << "size " << size << ", seed " << seed << ", epoch " << epoch;
      }
    }
  }
}

TEST(DataOrderTest, NothingIsDroppedAcrossBatches) {
  for (const int64_t size : {1, 2, 10, 100}) {
    for (const int64_t batch : {1, 3, 64, 250}) {
      const DataOrder order(7, size);
      std::vector<int64_t> images;
      for (int64_t u = 0; static_cast<int64_t>(images.size()) < 5 * size; ++u) {
        for (int64_t j = 0; j < batch; ++j) {
          images.push_back(order.ImageOfSample(u * batch + j));
        }
      }
      for (int64_t epoch = 0; epoch < 5; ++epoch) {
        const auto begin = images.begin() + epoch * size;
        EXPECT_TRUE(IsPermutation({begin, begin + size}));
      }
    }
  }
}

TEST(DataOrderTest, SampleIsPlaceInEpoch) {
  const DataOrder order(3, 10);
  for (int64_t n = 0; n < 35; ++n) {
    EXPECT_EQ(order.ImageOfSample(n), order.Permute(n / 10, n % 10));
  }
}

TEST(DataOrderTest, SeedAndEpochChangeTheOrder) {
  const std::vector<int64_t> base = Epoch(DataOrder(1, 1000), 1000, 0);
  EXPECT_NE(base, Epoch(DataOrder(1, 1000), 1000, 1));
  EXPECT_NE(base, Epoch(DataOrder(2, 1000), 1000, 0));
  EXPECT_EQ(base, Epoch(DataOrder(1, 1000), 1000, 0));
}

// Part of every run's numbers: a change here breaks resuming old runs. The
// values come from a Python script written from the header's description.
TEST(DataOrderTest, FrozenValues) {
  EXPECT_THAT(Epoch(DataOrder(1, 10), 10, 0),
              ElementsAre(5, 1, 7, 8, 0, 2, 4, 6, 3, 9));
  const DataOrder order(1, 60000);
  EXPECT_THAT((std::vector<int64_t>{order.Permute(0, 0), order.Permute(0, 1),
                                    order.Permute(5, 59999)}),
              ElementsAre(58385, 35782, 58755));
}

TEST(DataOrderTest, AllOrdersOfFewImagesOccurAboutEquallyOften) {
  // 24 orders; 24000 epochs; 5 standard deviations around 1000.
  std::map<std::vector<int64_t>, int> count;
  const DataOrder order(1, 4);
  for (int64_t epoch = 0; epoch < 24000; ++epoch)
    ++count[Epoch(order, 4, epoch)];
  EXPECT_EQ(count.size(), 24u);
  for (const auto& [images, times] : count) {
    EXPECT_NEAR(times, 1000, 5 * std::sqrt(1000.0));
  }
}

TEST(DataOrderTest, EveryImageComesEverywhere) {
  // 13 x 13 cells, 13000 epochs; 5 standard deviations around 1000.
  std::vector<std::vector<int>> count(13, std::vector<int>(13));
  const DataOrder order(5, 13);
  for (int64_t epoch = 0; epoch < 13000; ++epoch) {
    for (int64_t place = 0; place < 13; ++place) {
      ++count[place][order.Permute(epoch, place)];
    }
  }
  for (const auto& row : count) {
    for (const int times : row) EXPECT_NEAR(times, 1000, 5 * std::sqrt(1000.0));
  }
}

TEST(DataOrderTest, NeighborsArePulledApart) {
  // Places p and p + 1 keep their distance 1 only by chance: 2 of 60000.
  const DataOrder order(1, 60000);
  int kept = 0;
  for (int64_t place = 0; place + 1 < 60000; ++place) {
    kept +=
        std::abs(order.Permute(0, place) - order.Permute(0, place + 1)) == 1;
  }
  EXPECT_LE(kept, 12);
}

}  // namespace
}  // namespace gandem
