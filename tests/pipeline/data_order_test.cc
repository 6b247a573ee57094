// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "common/process/thread.h"

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

TEST(DataOrderTest, ASampleIsAPlaceInAnEpoch) {
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

// Values from a Python script written from the header's description. A change
// of these values breaks resuming old runs.
TEST(DataOrderTest, ValuesAreFrozen) {
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

TEST(DataOrderTest, EveryImageOccursAtEveryPlace) {
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

TEST(DataOrderTest, NeighborsAreSeparated) {
  // By chance places p and p + 1 keep their distance of 1 in 2 of 60000 cases.
  const DataOrder order(1, 60000);
  int kept = 0;
  for (int64_t place = 0; place + 1 < 60000; ++place) {
    kept +=
        std::abs(order.Permute(0, place) - order.Permute(0, place + 1)) == 1;
  }
  EXPECT_LE(kept, 12);
}

// Tests of the order SHARDS.

// Returns units; unit k begins at firsts[k].
std::vector<int64_t> FirstsOf(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> firsts;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    firsts.push_back(first);
    first += size;
  }
  return firsts;
}

ImageUnits UnitsOf(const std::vector<int64_t>& sizes, int64_t window) {
  return {.size = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}),
          .firsts = FirstsOf(sizes),
          .window = window};
}

// Computes the order with lists, as described in the header.
std::vector<int64_t> ShardsByLists(uint64_t seed, const ImageUnits& units,
                                   int64_t epoch) {
  const int64_t num_units = std::ssize(units.firsts);
  const KeyedPermutation of_units(seed, Purpose::kUnitOrder, num_units);
  std::vector<int64_t> row;
  for (int64_t k = 0; k < num_units; ++k) {
    const int64_t unit = of_units.At(epoch, k);
    const int64_t end =
        unit + 1 == num_units ? units.size : units.firsts[unit + 1];
    for (int64_t i = units.firsts[unit]; i < end; ++i) row.push_back(i);
  }
  const int64_t windows = (units.size + units.window - 1) / units.window;
  std::vector<int64_t> images;
  for (int64_t w = 0; w < windows; ++w) {
    const int64_t first = w * units.window;
    const int64_t count = std::min(units.window, units.size - first);
    const KeyedPermutation within(seed, Purpose::kWindowOrder, count);
    for (int64_t i = 0; i < count; ++i) {
      images.push_back(row[first + within.At(epoch * windows + w, i)]);
    }
  }
  return images;
}

// Covers all ways to split up to 7 images into units, and all windows.
TEST(ShardOrderTest, TheOrderMatchesTheHeadersDescription) {
  for (int64_t size = 1; size <= 7; ++size) {
    for (int64_t cuts = 0; cuts < 1 << (size - 1); ++cuts) {
      std::vector<int64_t> sizes = {1};
      for (int64_t i = 1; i < size; ++i) {
        if ((cuts >> (i - 1) & 1) != 0) sizes.push_back(0);
        ++sizes.back();
      }
      for (int64_t window = 1; window <= size + 1; ++window) {
        const ImageUnits units = UnitsOf(sizes, window);
        const DataOrder order(3, units);
        for (const int64_t epoch : {0, 1, 1000000}) {
          const std::vector<int64_t> images = Epoch(order, size, epoch);
          ASSERT_TRUE(IsPermutation(images));
          ASSERT_EQ(images, ShardsByLists(3, units, epoch))
              << "size " << size << ", cuts " << cuts << ", window " << window;
        }
      }
    }
  }
}

TEST(ShardOrderTest, EveryEpochIsAPermutation) {
  for (const auto& sizes : {std::vector<int64_t>{1000},
                            {1, 998, 1},
                            {100, 200, 300, 399},
                            {7, 7, 7, 7, 7, 7}}) {
    for (const int64_t window : {1, 64, 100, 128, 5000}) {
      const ImageUnits units = UnitsOf(sizes, window);
      const DataOrder order(1, units);
      for (const int64_t epoch : {0, 1, 7}) {
        const std::vector<int64_t> images = Epoch(order, units.size, epoch);
        EXPECT_TRUE(IsPermutation(images)) << window;
        EXPECT_EQ(images, ShardsByLists(1, units, epoch));
      }
    }
  }
}

// Values from tests/oracles/data_order.py. A change of these values breaks
// resuming old runs.
TEST(ShardOrderTest, ValuesAreFrozen) {
  const DataOrder order(1, UnitsOf({4, 1, 7, 3}, 6));
  EXPECT_THAT(Epoch(order, 15, 0),
              ElementsAre(1, 2, 0, 4, 5, 3, 11, 10, 6, 9, 8, 7, 13, 12, 14));
  EXPECT_THAT(Epoch(order, 15, 5),
              ElementsAre(13, 12, 5, 6, 14, 7, 1, 11, 8, 0, 9, 10, 3, 2, 4));
}

TEST(ShardOrderTest, AWindowHasImagesOfFewUnits) {
  const ImageUnits units = UnitsOf(std::vector<int64_t>(50, 100), 200);
  const DataOrder order(1, units);
  const std::vector<int64_t> images = Epoch(order, units.size, 3);
  for (int64_t first = 0; first < units.size; first += units.window) {
    std::set<int64_t> seen;
    for (int64_t i = first; i < first + units.window; ++i) {
      seen.insert(images[i] / 100);
    }
    EXPECT_EQ(seen.size(), 2u);
  }
  EXPECT_NE(images, Epoch(order, units.size, 4));
}

// With a window of all images, each image occurs at every place: 8 x 8 cells,
// 8000 epochs; 5 standard deviations around 1000.
TEST(ShardOrderTest, EveryImageOccursAtEveryPlace) {
  std::vector<std::vector<int>> count(8, std::vector<int>(8));
  const DataOrder order(5, UnitsOf({3, 1, 4}, 8));
  for (int64_t epoch = 0; epoch < 8000; ++epoch) {
    for (int64_t place = 0; place < 8; ++place) {
      ++count[place][order.Permute(epoch, place)];
    }
  }
  for (const auto& row : count) {
    for (const int times : row) EXPECT_NEAR(times, 1000, 5 * std::sqrt(1000.0));
  }
}

// Four units have 24 orders; 24000 epochs.
TEST(ShardOrderTest, AllOrdersOfUnitsOccurAboutEquallyOften) {
  std::map<std::vector<int64_t>, int> count;
  const DataOrder order(1, UnitsOf({1, 1, 1, 1}, 1));
  for (int64_t epoch = 0; epoch < 24000; ++epoch) {
    ++count[Epoch(order, 4, epoch)];
  }
  EXPECT_EQ(count.size(), 24u);
  for (const auto& [images, times] : count) {
    EXPECT_NEAR(times, 1000, 5 * std::sqrt(1000.0));
  }
}

// Copies and threads share a cache of the epoch.
TEST(ShardOrderTest, TheOrderIsTheSameForAnyNumberOfThreads) {
  const ImageUnits units = UnitsOf({30, 1, 40, 29}, 16);
  const DataOrder order(2, units);
  std::vector<std::vector<int64_t>> seen(4);
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("order", [&, t, copy = order] {
        for (int64_t number = 0; number < 600; ++number) {
          seen[t].push_back(copy.ImageOfSample((number * 7 + t * 150) % 600));
        }
      });
    }
  }
  for (int t = 0; t < 4; ++t) {
    for (int64_t number = 0; number < 600; ++number) {
      const int64_t n = (number * 7 + t * 150) % 600;
      EXPECT_EQ(seen[t][number], ShardsByLists(2, units, n / 100)[n % 100]);
    }
  }
}

}  // namespace
}  // namespace gandem
