// SPDX-License-Identifier: Apache-2.0
#include "extras/vit_features/gaussian_discrepancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

// tests/oracles/distance_goldens.py
TEST(GaussianDiscrepancyTest, EqualsNumpy) {
  const Golden golden("distances.safetensors");
  ASSERT_OK_AND_ASSIGN(
      const double distance,
      GaussianDiscrepancy(golden.Get("reference"), golden.Get("generated")));
  const auto expected = golden.Get("cmmd").item<double>();
  EXPECT_NEAR(distance, expected, 1e-9 * expected);
}

// One row per side, at a right angle: 1000 (1 + 1 - 2 exp(-2 / 200)).
TEST(GaussianDiscrepancyTest, TwoRowsByHand) {
  const at::Tensor both = torch::eye(2, at::kDouble);
  const at::Tensor x_ND = both.slice(0, 0, 1) * 3;
  const at::Tensor y_MD = both.slice(0, 1, 2) * 0.1;
  EXPECT_NEAR(*GaussianDiscrepancy(x_ND, y_MD), 2000 * (1 - std::exp(-0.01)),
              1e-9);
  EXPECT_NEAR(*GaussianDiscrepancy(x_ND, x_ND), 0, 1e-9);
}

// There are more rows than in one block.
TEST(GaussianDiscrepancyTest, ManyRowsAreAddedUp) {
  const at::Tensor x_ND = RandomNormal(700, 3, 1);
  const at::Tensor y_MD = RandomNormal(500, 3, 2) + 1;
  ASSERT_OK_AND_ASSIGN(const double once, GaussianDiscrepancy(x_ND, y_MD));
  ASSERT_OK_AND_ASSIGN(
      const double repeated,
      GaussianDiscrepancy(x_ND.repeat({3, 1}), y_MD.repeat({3, 1})));
  EXPECT_GT(once, 0);
  EXPECT_NEAR(repeated, once, 1e-9);
}

TEST(GaussianDiscrepancyTest, WrongInput) {
  at::Tensor x_ND = RandomNormal(5, 3, 1);
  EXPECT_THAT(GaussianDiscrepancy(x_ND, RandomNormal(5, 4, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("different networks")));
  x_ND[3] = 0;
  EXPECT_THAT(GaussianDiscrepancy(RandomNormal(5, 3, 2), x_ND),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("generated features are all 0 in row 3")));
}

}  // namespace
}  // namespace gandem
