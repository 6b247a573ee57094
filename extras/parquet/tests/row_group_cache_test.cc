// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/row_group_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "absl/synchronization/notification.h"
#include "common/check.h"
#include "common/process/thread.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;

constexpr int64_t kGroupBytes = 1000;

RowGroupImages GroupOfBytes() {
  const std::string bytes(kGroupBytes, 'x');
  const absl::string_view pieces[] = {bytes};
  auto file = SealedFile(pieces);
  GANDEM_CHECK_OK(file.status());
  auto mapped = SealedBytes::Map(*file, kGroupBytes);
  GANDEM_CHECK_OK(mapped.status());
  const absl::string_view image = mapped->bytes();
  return RowGroupImages(*std::move(mapped), {image});
}

class RowGroupCacheTest : public ::testing::Test {
 protected:
  // Whether it had to be read.
  bool Reads(int64_t key) {
    const int before = loads_;
    const auto images = cache_.Get(key, [this] {
      ++loads_;
      return GroupOfBytes();
    });
    EXPECT_OK(images);
    EXPECT_EQ((*images)->image(0).size(), kGroupBytes);
    return loads_ > before;
  }

  RowGroupCache cache_{3 * kGroupBytes};
  std::atomic<int> loads_ = 0;
};

TEST_F(RowGroupCacheTest, WhatWasNotUsedForLongestGoesFirst) {
  for (const int64_t key : {1, 2, 3}) EXPECT_TRUE(Reads(key));
  EXPECT_FALSE(Reads(1));
  EXPECT_TRUE(Reads(4));  // in the place of 2
  for (const int64_t key : {1, 3, 4}) EXPECT_FALSE(Reads(key)) << key;
  EXPECT_TRUE(Reads(2));
  EXPECT_TRUE(Reads(1));
}

TEST_F(RowGroupCacheTest, OneStaysHoweverLargeItIs) {
  RowGroupCache small(1);
  int loads = 0;
  const auto load = [&]() -> absl::StatusOr<RowGroupImages> {
    ++loads;
    return GroupOfBytes();
  };
  ASSERT_OK_AND_ASSIGN(const auto first, small.Get(1, load));
  EXPECT_OK(small.Get(1, load));
  EXPECT_EQ(loads, 1);
  EXPECT_OK(small.Get(2, load));
  EXPECT_OK(small.Get(1, load));
  EXPECT_EQ(loads, 3);
  // Who still uses it has it.
  EXPECT_EQ(first->image(0), std::string(kGroupBytes, 'x'));
}

TEST_F(RowGroupCacheTest, ManyWaitForOneReading) {
  absl::Notification reading;
  Thread reader("reader", [&] {
    EXPECT_OK(cache_.Get(7, [&]() -> absl::StatusOr<RowGroupImages> {
      ++loads_;
      reading.Notify();
      return GroupOfBytes();
    }));
  });
  reading.WaitForNotification();
  std::vector<Thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back("other", [&] { EXPECT_FALSE(Reads(7)); });
  }
  others.clear();
  EXPECT_EQ(loads_, 1);
}

// The parts of a row group are its own read's: nobody puts that off.
TEST_F(RowGroupCacheTest, WhoGivesWayGoesAwayWhereItsOwnerReads) {
  const int owner = 0;
  absl::Notification reading;
  absl::Notification go;
  Thread reader("reader", [&] {
    const ScopedGiveWay way({.owner = &owner, .number = 3});
    EXPECT_OK(cache_.Get(7, [&]() -> absl::StatusOr<RowGroupImages> {
      EXPECT_FALSE(ScopedGiveWay::GivesWayTo({.owner = &owner, .number = 4}));
      reading.Notify();
      go.WaitForNotification();
      return GroupOfBytes();
    }));
    EXPECT_FALSE(way.gave_way_to().has_value());
    EXPECT_GE(way.brought_bytes(), kGroupBytes);
  });
  reading.WaitForNotification();
  {
    const ScopedGiveWay way({.owner = &owner, .number = 4});
    EXPECT_THAT(cache_.Get(7,
                           []() -> absl::StatusOr<RowGroupImages> {
                             return absl::InternalError("it is being read");
                           }),
                StatusIs(absl::StatusCode::kCancelled));
    EXPECT_EQ(way.gave_way_to(), 3);
  }
  go.Notify();
  reader.Join();
  const ScopedGiveWay way({.owner = &owner, .number = 4});
  EXPECT_FALSE(Reads(7));
  EXPECT_TRUE(way.was_at_hand());
}

TEST_F(RowGroupCacheTest, AFailureIsNotKept) {
  EXPECT_THAT(cache_.Get(1,
                         []() -> absl::StatusOr<RowGroupImages> {
                           return absl::DataLossError("damaged");
                         }),
              StatusIs(absl::StatusCode::kDataLoss, "damaged"));
  EXPECT_TRUE(Reads(1));
  EXPECT_FALSE(Reads(1));
}

}  // namespace
}  // namespace gandem
