// SPDX-License-Identifier: Apache-2.0
#include "pipeline/shared_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "pipeline/memory/page_allocator.h"
#include "pipeline/pieces_read.h"
#include "pipeline/read_stop.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::StatusIs;

constexpr int64_t kBlockOfTen = 10;

using BlockCache = SharedCache<std::pair<std::string, int64_t>, PagedString>;

class SharedCacheTest : public ::testing::Test {
 protected:
  // Returns block `number`, whose bytes are the number's digit.
  std::string Get(BlockCache& cache, int64_t number) {
    const auto block = cache.Get(
        {"file", number}, kBlockOfTen, absl::InfiniteFuture(),
        [&]() -> absl::StatusOr<PagedString> {
          ++fetches_;
          return PagedString(kBlockOfTen, static_cast<char>('0' + number));
        });
    return block.ok() ? std::string(**block) : block.status().ToString();
  }

  std::atomic<int> fetches_ = 0;
};

TEST_F(SharedCacheTest, RecentlyUsedBlocksAreKept) {
  BlockCache cache(2 * kBlockOfTen);
  EXPECT_EQ(Get(cache, 1), "1111111111");
  EXPECT_EQ(Get(cache, 2), "2222222222");
  EXPECT_EQ(Get(cache, 1), "1111111111");
  EXPECT_EQ(fetches_, 2);
  Get(cache, 3);  // replaces 2
  Get(cache, 1);
  EXPECT_EQ(fetches_, 3);
  Get(cache, 2);
  EXPECT_EQ(fetches_, 4);
  EXPECT_EQ(cache.held_bytes(), 2 * kBlockOfTen);
}

TEST_F(SharedCacheTest, ATooLargeBlockIsReturnedAndNotKept) {
  BlockCache cache(kBlockOfTen - 1);
  EXPECT_EQ(Get(cache, 1), "1111111111");
  EXPECT_EQ(cache.held_bytes(), 0);
}

TEST_F(SharedCacheTest, SpaceMayBeReservedForOthers) {
  BlockCache cache(2 * kBlockOfTen);
  Get(cache, 1);
  Get(cache, 2);
  EXPECT_FALSE(cache.Reserve(2 * kBlockOfTen + 1));
  EXPECT_TRUE(cache.Reserve(kBlockOfTen));
  EXPECT_EQ(cache.held_bytes(), kBlockOfTen);
  Get(cache, 1);
  EXPECT_EQ(cache.held_bytes(), kBlockOfTen);
  cache.Release(kBlockOfTen);
  Get(cache, 2);
  EXPECT_EQ(cache.held_bytes(), 2 * kBlockOfTen);
  cache.Resize(-2 * kBlockOfTen);
  EXPECT_EQ(cache.held_bytes(), 0);
}

TEST_F(SharedCacheTest, ABlockInUseTakesSpace) {
  BlockCache cache(2 * kBlockOfTen);
  const auto get = [&](int64_t number, absl::Time deadline) {
    return cache.Get({"file", number}, kBlockOfTen, deadline,
                     [&]() -> absl::StatusOr<PagedString> {
                       ++fetches_;
                       return PagedString(kBlockOfTen, 'x');
                     });
  };
  auto first = get(1, absl::InfiniteFuture());
  Get(cache, 2);
  Get(cache, 3);  // replaces the unused block 2
  EXPECT_EQ(fetches_, 3);
  auto again = get(1, absl::InfiniteFuture());
  EXPECT_EQ(fetches_, 3);
  auto third = get(3, absl::InfiniteFuture());
  EXPECT_EQ(cache.held_bytes(), 2 * kBlockOfTen);
  // A thread that fetches alone never blocks.
  EXPECT_OK(get(4, absl::InfinitePast()).status());
  {
    absl::Notification go;
    std::atomic<bool> started = false;
    Thread fetcher("fetcher", [&] {
      EXPECT_OK(cache
                    .Get({"file", 5}, kBlockOfTen, absl::InfiniteFuture(),
                         [&]() -> absl::StatusOr<PagedString> {
                           started = true;
                           go.WaitForNotification();
                           return PagedString(kBlockOfTen, 'x');
                         })
                    .status());
    });
    EXPECT_TRUE(Eventually([&] { return started.load(); }));
    EXPECT_THAT(get(6, absl::InfinitePast()),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
    first = third = again = absl::NotFoundError("given back");
    EXPECT_OK(get(6, absl::InfinitePast()).status());
    go.Notify();
  }
  EXPECT_LE(cache.held_bytes(), 2 * kBlockOfTen);
}

TEST_F(SharedCacheTest, ManyThreadsFetchABlockOnce) {
  BlockCache cache(100 * kBlockOfTen);
  absl::Notification go;
  std::atomic<int> got = 0;
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back("get", [&] {
        const auto block =
            cache.Get({"file", 7}, kBlockOfTen, absl::InfiniteFuture(),
                      [&]() -> absl::StatusOr<PagedString> {
                        ++fetches_;
                        go.WaitForNotification();
                        return PagedString(kBlockOfTen, 'x');
                      });
        if (block.ok() && **block == "xxxxxxxxxx") ++got;
      });
    }
    EXPECT_TRUE(Eventually([&] { return fetches_ == 1; }));
    go.Notify();
  }
  EXPECT_EQ(got, 8);
  EXPECT_EQ(fetches_, 1);
}

TEST_F(SharedCacheTest, AReadReportsWhetherItFetchedTheBlock) {
  BlockCache cache(100 * kBlockOfTen);
  {
    const ScopedPiecesRead pieces;
    EXPECT_EQ(Get(cache, 1), "1111111111");
    EXPECT_FALSE(pieces.were_at_hand());
  }
  const ScopedPiecesRead pieces;
  EXPECT_FALSE(pieces.were_at_hand());
  EXPECT_EQ(Get(cache, 1), "1111111111");
  EXPECT_TRUE(pieces.were_at_hand());
}

TEST_F(SharedCacheTest, AFailureIsNotCached) {
  BlockCache cache(kBlockOfTen);
  const auto fail = []() -> absl::StatusOr<PagedString> {
    return absl::NotFoundError("gone");
  };
  EXPECT_THAT(cache.Get({"file", 1}, kBlockOfTen, absl::InfiniteFuture(), fail),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(Get(cache, 1), "1111111111");
}

TEST_F(SharedCacheTest, AStoppedReaderLeavesTheBlockToTheOthers) {
  BlockCache cache(kBlockOfTen);
  absl::Notification stopped;
  std::atomic<bool> started = false;
  Thread first("first", [&] {
    EXPECT_THAT(cache.Get({"file", 1}, kBlockOfTen, absl::InfiniteFuture(),
                          [&]() -> absl::StatusOr<PagedString> {
                            started = true;
                            stopped.WaitForNotification();
                            return absl::CancelledError("stopped");
                          }),
                StatusIs(absl::StatusCode::kCancelled));
  });
  EXPECT_TRUE(Eventually([&] { return started.load(); }));
  Thread second("second", [&] { EXPECT_EQ(Get(cache, 1), "1111111111"); });
  stopped.Notify();
  first.Join();
  second.Join();
  EXPECT_EQ(fetches_, 1);
}

TEST_F(SharedCacheTest, WaitingEndsAtTheDeadlineAndWhenTheReadIsStopped) {
  BlockCache cache(kBlockOfTen);
  absl::Notification go;
  std::atomic<bool> started = false;
  Thread fetcher("fetcher", [&] {
    cache
        .Get({"file", 1}, kBlockOfTen, absl::InfiniteFuture(),
             [&]() -> absl::StatusOr<PagedString> {
               started = true;
               go.WaitForNotification();
               return PagedString(kBlockOfTen, 'x');
             })
        .status()
        .IgnoreError();
  });
  EXPECT_TRUE(Eventually([&] { return started.load(); }));
  const auto never = []() -> absl::StatusOr<PagedString> {
    ADD_FAILURE();
    return "";
  };
  // Requests the same block, and one that does not fit.
  for (const int64_t number : {1, 2}) {
    EXPECT_THAT(
        cache.Get({"file", number}, kBlockOfTen, absl::InfinitePast(), never),
        StatusIs(absl::StatusCode::kDeadlineExceeded));
    const std::atomic<bool> stop = true;
    const ScopedReadStop scope(&stop);
    EXPECT_THAT(
        cache.Get({"file", number}, kBlockOfTen, absl::InfiniteFuture(), never),
        StatusIs(absl::StatusCode::kCancelled));
  }
  go.Notify();
}

}  // namespace
}  // namespace gandem
