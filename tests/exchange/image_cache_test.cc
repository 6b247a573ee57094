// SPDX-License-Identifier: Apache-2.0
#include "exchange/image_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exchange/exchange_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Images;
using gandem::testing::Places;
using gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

ImageCache ExactCache(int64_t max_images) {
  return ImageCache({.max_images = max_images, .max_bytes = 1000});
}

TEST(ImageCacheTest, PiecesKeepTheGeneratorsCut) {
  ImageCache cache = ExactCache(8);
  cache.Add(Images(0, 3, 2));
  cache.Add(Images(0, 0, 3));
  ASSERT_OK_AND_ASSIGN(const auto taken, cache.Take(0, 0, 5));
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].count, 3);
  EXPECT_EQ(taken[1].first_index, 3);
  EXPECT_THAT(Places(taken), ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2),
                                         Pair(0, 3), Pair(0, 4)));
  EXPECT_EQ(cache.stats().images, 0);
  EXPECT_EQ(cache.stats().bytes, 0);
}

TEST(ImageCacheTest, PiecesAreCutToTheRequestedRange) {
  ImageCache cache = ExactCache(8);
  cache.Add(Images(0, 0, 8));
  ASSERT_OK_AND_ASSIGN(const auto first, cache.Take(0, 0, 3));
  EXPECT_THAT(Places(first), ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2)));
  EXPECT_EQ(cache.stats().images, 5);
  ASSERT_OK_AND_ASSIGN(const auto second, cache.Take(0, 5, 2));
  EXPECT_THAT(Places(second), ElementsAre(Pair(0, 5), Pair(0, 6)));
  EXPECT_EQ(cache.stats().images, 3);
}

TEST(ImageCacheTest, NothingIsTakenIfAPieceIsMissing) {
  ImageCache cache = ExactCache(8);
  cache.Add(Images(0, 0, 3));
  cache.Add(Images(0, 5, 3));
  EXPECT_THAT(*cache.Take(0, 0, 8), IsEmpty());
  EXPECT_THAT(*cache.Take(0, 1, 3), IsEmpty());
  EXPECT_EQ(cache.stats().images, 6);
  cache.Add(Images(0, 3, 2));
  EXPECT_EQ(Places(*cache.Take(0, 0, 8)).size(), 8u);
}

TEST(ImageCacheTest, RoundsAreSeparate) {
  ImageCache cache = ExactCache(16);
  cache.Add(Images(0, 0, 4));
  cache.Add(Images(1, 0, 8));
  EXPECT_THAT(*cache.Take(0, 0, 8), IsEmpty());
  EXPECT_EQ(Places(*cache.Take(1, 2, 2)).size(), 2u);
}

TEST(ImageCacheTest, SlicesAreTakenInAscendingOrder) {
  ImageCache cache = ExactCache(8);
  cache.Add(Images(1, 0, 8));
  ASSERT_OK(cache.Take(1, 4, 2));
  EXPECT_THAT(cache.Take(1, 4, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(cache.Take(0, 6, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(ImageCacheTest, AFullCacheHasNoSpace) {
  ImageCache cache = ExactCache(4);
  cache.Add(Images(0, 0, 3));
  EXPECT_TRUE(cache.HasRoom(Images(0, 3, 1)));
  EXPECT_FALSE(cache.HasRoom(Images(0, 3, 2)));
  ASSERT_OK(cache.Take(0, 0, 1));
  EXPECT_TRUE(cache.HasRoom(Images(0, 3, 2)));
}

TEST(ImageCacheTest, BytesAreLimitedToo) {
  ImageCache cache({.max_images = 100, .max_bytes = 4});
  cache.Add(Images(0, 0, 3));
  EXPECT_TRUE(cache.HasRoom(Images(0, 3, 1)));
  EXPECT_FALSE(cache.HasRoom(Images(0, 3, 2)));
}

TEST(ImageCacheTest, ARequestedSliceNeedsNoSpace) {
  ImageCache cache = ExactCache(4);
  cache.Add(Images(1, 0, 4));  // a fast rank
  EXPECT_FALSE(cache.HasRoom(Images(0, 4, 4)));
  EXPECT_THAT(*cache.Take(0, 4, 2), IsEmpty());
  EXPECT_TRUE(cache.HasRoom(Images(0, 4, 4)));
  EXPECT_FALSE(cache.HasRoom(Images(0, 6, 2)));
  EXPECT_FALSE(cache.HasRoom(Images(1, 4, 4)));
  cache.Add(Images(0, 4, 4));
  EXPECT_EQ(Places(*cache.Take(0, 4, 2)).size(), 2u);
  EXPECT_FALSE(cache.HasRoom(Images(0, 4, 4)));  // no longer
}

TEST(ImageCacheTest, ExactRemovesNothing) {
  ImageCache cache = ExactCache(4);
  cache.Add(Images(0, 0, 4));
  EXPECT_THAT(*cache.Take(0, 4, 4), IsEmpty());
  cache.Add(Images(0, 4, 4));  // requested, beyond the limit
  EXPECT_EQ(cache.stats().images, 8);
  EXPECT_EQ(cache.stats().dropped, 0);
  EXPECT_EQ(Places(*cache.Take(0, 0, 8)).size(), 8u);
}

ImageCache BoundedCache(int64_t max_samples, int64_t max_age,
                        int64_t max_images = 8) {
  return ImageCache({.max_images = max_images,
                     .max_bytes = 1000,
                     .max_samples_per_image = max_samples,
                     .max_age = max_age});
}

TEST(BoundedCacheTest, UnusedImagesAreTakenInOrder) {
  ImageCache cache = BoundedCache(1, 2);
  cache.Add(Images(1, 0, 2));
  cache.Add(Images(0, 2, 2));
  cache.Add(Images(0, 0, 2));
  EXPECT_THAT(Places(cache.TakeNext(0, 3)),
              ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2)));
  EXPECT_THAT(Places(cache.TakeNext(0, 3)),
              ElementsAre(Pair(0, 3), Pair(1, 0), Pair(1, 1)));
  EXPECT_THAT(cache.TakeNext(0, 1), IsEmpty());
  EXPECT_EQ(cache.stats().images, 0);
}

TEST(BoundedCacheTest, BoundedWaitsForAllUnusedImages) {
  ImageCache cache = BoundedCache(1, 2);
  cache.Add(Images(0, 0, 2));
  EXPECT_THAT(cache.TakeNext(0, 3), IsEmpty());
  EXPECT_EQ(cache.stats().images, 2);
}

TEST(BoundedCacheTest, ImagesAreReplayedUpToTheLimit) {
  ImageCache cache = BoundedCache(3, 2);
  cache.Add(Images(0, 0, 2));
  for (int use = 0; use < 3; ++use) {
    EXPECT_THAT(Places(cache.TakeNext(0, 2)),
                ElementsAre(Pair(0, 0), Pair(0, 1)))
        << use;
  }
  EXPECT_THAT(cache.TakeNext(0, 2), IsEmpty());
  EXPECT_EQ(cache.stats().replayed, 4);
  EXPECT_EQ(cache.stats().dropped, 0);
}

TEST(BoundedCacheTest, UnusedImagesComeBeforeReplays) {
  ImageCache cache = BoundedCache(2, 2);
  cache.Add(Images(0, 0, 2));
  (void)cache.TakeNext(0, 2);
  cache.Add(Images(1, 0, 1));
  EXPECT_THAT(Places(cache.TakeNext(0, 2)),
              ElementsAre(Pair(1, 0), Pair(0, 0)));
  // The least used images come next.
  EXPECT_THAT(Places(cache.TakeNext(0, 2)),
              ElementsAre(Pair(0, 1), Pair(1, 0)));
  EXPECT_THAT(cache.TakeNext(0, 1), IsEmpty());
}

TEST(BoundedCacheTest, NoImageAppearsTwiceInOneBatch) {
  ImageCache cache = BoundedCache(5, 2);
  cache.Add(Images(0, 0, 3));
  (void)cache.TakeNext(0, 1);
  EXPECT_THAT(Places(cache.TakeNext(0, 3)),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(0, 0)));
  EXPECT_THAT(cache.TakeNext(0, 4), IsEmpty());
}

TEST(BoundedCacheTest, OldImagesAreDroppedAndCounted) {
  ImageCache cache = BoundedCache(2, 2);
  cache.Add(Images(0, 0, 2));
  (void)cache.TakeNext(0, 1);
  cache.Add(Images(1, 0, 2));
  EXPECT_THAT(Places(cache.TakeNext(2, 2)),
              ElementsAre(Pair(1, 0), Pair(1, 1)));
  EXPECT_EQ(cache.stats().dropped, 1);
}

TEST(BoundedCacheTest, ImagesThatArriveTooOldAreDroppedAndCounted) {
  ImageCache cache = BoundedCache(2, 2, /*max_images=*/2);
  cache.DropBefore(3);
  cache.Add(Images(3, 0, 2));
  EXPECT_TRUE(cache.HasRoom(Images(2, 0, 2)));
  cache.Add(Images(2, 0, 2));
  EXPECT_EQ(cache.stats().dropped, 2);
  EXPECT_EQ(cache.stats().images, 2);
}

TEST(BoundedCacheTest, ACacheFullOfUnusedImagesHasNoSpace) {
  ImageCache cache = BoundedCache(2, 2, /*max_images=*/4);
  cache.Add(Images(0, 0, 4));
  EXPECT_FALSE(cache.HasRoom(Images(1, 0, 1)));
}

TEST(BoundedCacheTest, UsedImagesAreReplacedOldestFirst) {
  ImageCache cache = BoundedCache(9, 9, /*max_images=*/4);
  cache.Add(Images(0, 0, 4));
  (void)cache.TakeNext(0, 3);
  EXPECT_TRUE(cache.HasRoom(Images(1, 0, 2)));
  EXPECT_FALSE(cache.HasRoom(Images(1, 0, 4)));
  (void)cache.TakeNext(0, 1);
  cache.Add(Images(1, 0, 2));
  EXPECT_LE(cache.stats().images, 4);
  EXPECT_EQ(cache.stats().dropped, 0);
  EXPECT_THAT(Places(cache.TakeNext(1, 3)),
              ElementsAre(Pair(1, 0), Pair(1, 1), Pair(0, 3)));
}

TEST(BoundedCacheTest, AStarvedConsumerNeedsNoSpace) {
  ImageCache cache = BoundedCache(1, 2, /*max_images=*/4);
  cache.Add(Images(0, 0, 2));
  EXPECT_FALSE(cache.HasRoom(Images(1, 0, 3)));
  EXPECT_THAT(cache.TakeNext(0, 3), IsEmpty());
  EXPECT_TRUE(cache.HasRoom(Images(1, 0, 3)));
}

}  // namespace
}  // namespace gandem
