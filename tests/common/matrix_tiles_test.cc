// SPDX-License-Identifier: Apache-2.0
#include "common/matrix_tiles.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

constexpr uint32_t kTiles = uint32_t{1} << 24;

TEST(TilesHaveNoSizeTest, AMissingLeafMeansNoSize) {
  EXPECT_TRUE(TilesHaveNoSize({.max_leaf = 0x1c, .features = kTiles}));
  // Leaves above the highest return the highest leaf's data.
  EXPECT_TRUE(TilesHaveNoSize(
      {.max_leaf = 0x1c, .features = kTiles, .max_palette = 7}));
  EXPECT_TRUE(TilesHaveNoSize({.max_leaf = 0x20, .features = kTiles}));
}

TEST(TilesHaveNoSizeTest, ProcessorsWithTilesHaveASize) {
  EXPECT_FALSE(TilesHaveNoSize(
      {.max_leaf = 0x20, .features = kTiles, .max_palette = 1}));
}

TEST(TilesHaveNoSizeTest, WithoutTileFeaturesNothingIsReported) {
  EXPECT_FALSE(TilesHaveNoSize({.max_leaf = 0x16, .features = ~kTiles}));
  EXPECT_FALSE(TilesHaveNoSize({}));
}

}  // namespace
}  // namespace gandem
