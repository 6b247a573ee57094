// SPDX-License-Identifier: Apache-2.0
#include "common/files/quantities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

TEST(QuantitiesTest, SizesCountsAndLinksAreFormatted) {
  EXPECT_EQ(*ParseBytes("m", "40GiB"), int64_t{40} << 30);
  EXPECT_EQ(*ParseBytes("m", "1.5 GB"), 1'500'000'000);
  EXPECT_EQ(*ParseBytes("m", "12B"), 12);
  EXPECT_EQ(*ParseBytes("m", "3KiB"), 3072);
  EXPECT_EQ(*ParseBytes("m", "4kB"), 4000);
  EXPECT_DOUBLE_EQ(ParseLink("l", "100Mbit")->bytes_per_second(), 12.5e6);
  EXPECT_DOUBLE_EQ(ParseLink("l", "1Gbit,500us")->latency_seconds(), 5e-4);
  for (const char* const text :
       {"", "40", "GiB", "-1GiB", "0GiB", "1e99GiB", "2000TiB", "1..2GiB",
        "40gib", "8 gigs", "nan", "infGiB"}) {
    EXPECT_THAT(
        ParseBytes("--memory", text),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--memory")))
        << text;
  }
  for (const char* const text :
       {"", "25", "0Gbit", "25Gbit,", "25Gbit,20", "25GiB", "fast"}) {
    EXPECT_THAT(ParseLink("--link", text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("25Gbit or 100Mbit,20ms")))
        << text;
  }
  EXPECT_EQ(ParseCount("10k"), 10'000);
  EXPECT_EQ(ParseCount("1.1k"), 1'100);
  EXPECT_EQ(ParseCount("2.5M"), 2'500'000);
  for (const char* const text : {"", "k", "10", "10B", "-1k", "0k", "9999T"}) {
    EXPECT_EQ(ParseCount(text), std::nullopt) << text;
  }
  EXPECT_EQ(BytesText(1536 << 20), "1.50 GiB");
  EXPECT_EQ(BytesText(12), "12 B");
  EXPECT_EQ(NumberText(1234.5), "1234");
  EXPECT_EQ(NumberText(0.5), "0.500");
}

TEST(QuantitiesTest, NumbersAreShort) {
  EXPECT_EQ(ShortNumber(0.25), "0.25");
  EXPECT_EQ(ShortNumber(12500), "12.5K");
  EXPECT_EQ(ShortNumber(3e6), "3M");
  EXPECT_EQ(ShortNumber(-2e9), "-2G");
}

}  // namespace
}  // namespace gandem
