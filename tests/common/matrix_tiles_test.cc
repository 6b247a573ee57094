// SPDX-License-Identifier: Apache-2.0
#include "common/matrix_tiles.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

constexpr uint32_t kTiles = uint32_t{1} << 24;

TEST(TilesHaveNoSizeTest, MissingLeafMeansNoSize) {
  EXPECT_TRUE(TilesHaveNoSize({.max_leaf = 0x1c, .features = kTiles}));
  // Below the highest leaf a processor answers with that of the highest.
  EXPECT_TRUE(TilesHaveNoSize(
      {.max_leaf = 0x1c, .features = kTiles, .max_palette = 7}));
  EXPECT_TRUE(TilesHaveNoSize({.max_leaf = 0x20, .features = kTiles}));
}

TEST(TilesHaveNoSizeTest, NotWhereThereAreTiles) {
  EXPECT_FALSE(TilesHaveNoSize(
      {.max_leaf = 0x20, .features = kTiles, .max_palette = 1}));
}

TEST(TilesHaveNoSizeTest, NotWhereNobodySaysTiles) {
  EXPECT_FALSE(TilesHaveNoSize({.max_leaf = 0x16, .features = ~kTiles}));
  EXPECT_FALSE(TilesHaveNoSize({}));
}

}  // namespace
}  // namespace gandem
