// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/median_interval.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace gandem {
namespace {

std::vector<double> From1To(int n) {
  std::vector<double> values(n);
  std::iota(values.rbegin(), values.rend(), 1.0);  // unsorted
  return values;
}

TEST(MedianIntervalTest, OneValueIsAllThatIsKnown) {
  const MedianInterval interval = MedianIntervalOf({0.5});
  EXPECT_EQ(interval.median, 0.5);
  EXPECT_EQ(interval.low, 0.5);
  EXPECT_EQ(interval.high, 0.5);
  EXPECT_EQ(interval.values, 1);
  EXPECT_FALSE(interval.IsWithin(1)) << "one value tells nothing";
}

TEST(MedianIntervalTest, OfAnEvenNumberTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(MedianIntervalOf({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(MedianIntervalOf({4, 1, 3}).median, 3);
}

// The ranks of the table of binomial limits at p = 1/2, two-sided 5 %: n, and
// the number of the lower value (scipy.stats.binom.ppf(0.025, n, 0.5), at least
// 1).
TEST(MedianIntervalTest, RanksAreThoseOfTheBinomialDistribution) {
  constexpr struct {
    int n;
    int low;
  } kCases[] = {{5, 1},   {6, 1},    {8, 1},    {9, 2},  {11, 2},
                {12, 3},  {15, 4},   {20, 6},   {25, 8}, {30, 10},
                {50, 18}, {100, 40}, {500, 228}};
  for (const auto& [n, low] : kCases) {
    const MedianInterval interval = MedianIntervalOf(From1To(n));
    EXPECT_EQ(interval.low, low) << n;
    EXPECT_EQ(interval.high, n + 1 - low) << n;
    EXPECT_EQ(interval.values, n);
  }
}

TEST(MedianIntervalTest, SixEqualValuesAreSettledAndFiveAreNot) {
  EXPECT_FALSE(MedianIntervalOf(std::vector<double>(5, 1.0)).IsWithin(0.05));
  EXPECT_TRUE(MedianIntervalOf(std::vector<double>(6, 1.0)).IsWithin(0.05));
  // One that is off is out of the interval from nine values on.
  std::vector<double> values(8, 1.0);
  values[0] = 2;
  EXPECT_FALSE(MedianIntervalOf(values).IsWithin(0.05));
  values.push_back(1.0);
  EXPECT_TRUE(MedianIntervalOf(values).IsWithin(0.05));
}

TEST(MedianIntervalTest, OfVeryManyTheLastOnes) {
  std::vector<double> values(3000, 7.0);
  values.insert(values.end(), 1000, 3.0);
  EXPECT_EQ(MedianIntervalOf(values).high, 3.0);
}

}  // namespace
}  // namespace gandem
