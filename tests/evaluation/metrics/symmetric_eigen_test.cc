// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/symmetric_eigen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/philox.h"

namespace gandem {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<double> SortedValues(const SquareMatrix& m) {
  std::vector<double> values = SymmetricEigen(m).values;
  std::sort(values.begin(), values.end());
  return values;
}

SquareMatrix RandomSymmetric(int64_t n, uint64_t seed) {
  PhiloxStream stream(seed, Purpose::kInit, 0, 0);
  SquareMatrix m(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j) {
      m.at(i, j) = m.at(j, i) = stream.NextNormal();
    }
  }
  return m;
}

// max |V diag(values) V' - m| and max |V V' - 1|
void ExpectDecomposes(const SquareMatrix& m, double tolerance) {
  const EigenDecomposition eigen = SymmetricEigen(m);
  for (int64_t i = 0; i < m.size; ++i) {
    for (int64_t j = 0; j < m.size; ++j) {
      double element = 0;
      double product = 0;
      for (int64_t k = 0; k < m.size; ++k) {
        const double vv = eigen.vectors.at(i, k) * eigen.vectors.at(j, k);
        element += eigen.values[k] * vv;
        product += vv;
      }
      ASSERT_NEAR(element, m.at(i, j), tolerance) << i << ", " << j;
      ASSERT_NEAR(product, i == j ? 1.0 : 0.0, 1e-12) << i << ", " << j;
    }
  }
}

TEST(SymmetricEigenTest, TwoByTwo) {
  SquareMatrix m(2);
  m.values = {2, 1, 1, 2};
  EXPECT_THAT(SortedValues(m),
              ElementsAre(DoubleNear(1, 1e-14), DoubleNear(3, 1e-14)));
}

// The second difference matrix has 2 - 2 cos(k pi / (n + 1)), k = 1..n.
TEST(SymmetricEigenTest, SecondDifferences) {
  constexpr int64_t kSize = 50;
  SquareMatrix m(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    m.at(i, i) = 2;
    if (i + 1 < kSize) m.at(i, i + 1) = m.at(i + 1, i) = -1;
  }
  const std::vector<double> values = SortedValues(m);
  for (int64_t k = 1; k <= kSize; ++k) {
    EXPECT_NEAR(values[k - 1],
                2 - 2 * std::cos(static_cast<double>(k) * std::numbers::pi /
                                 (kSize + 1)),
                1e-12);
  }
}

TEST(SymmetricEigenTest, DecomposesRandomMatrices) {
  for (const int64_t n : {1, 2, 3, 10, 64, 192}) {
    ExpectDecomposes(RandomSymmetric(n, static_cast<uint64_t>(n)), 1e-10);
  }
}

TEST(SymmetricEigenTest, ZeroRankOneAndHugeRange) {
  ExpectDecomposes(SquareMatrix(5), 0);
  SquareMatrix rank_one(4);
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) rank_one.at(i, j) = (i + 1.0) * (j + 1.0);
  }
  EXPECT_THAT(SortedValues(rank_one),
              ElementsAre(DoubleNear(0, 1e-13), DoubleNear(0, 1e-13),
                          DoubleNear(0, 1e-13), DoubleNear(30, 1e-12)));
  SquareMatrix range(3);
  range.values = {1e12, 1, 1e-9, 1, 1, 1e-3, 1e-9, 1e-3, 1e-12};
  ExpectDecomposes(range, 1e-3);
}

TEST(SymmetricEigenTest, ReadsTheUpperTriangleOnly) {
  SquareMatrix m = RandomSymmetric(6, 1);
  const std::vector<double> values = SortedValues(m);
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < i; ++j) m.at(i, j) = 99;
  }
  EXPECT_EQ(SortedValues(m), values);
}

}  // namespace
}  // namespace gandem
