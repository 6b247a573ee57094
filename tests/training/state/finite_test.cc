// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

TEST(FiniteTest, LargeValuesAreFinite) {
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    EXPECT_TRUE(IsFinite(torch::full({3, 1000}, 6e4, type))) << type;
    EXPECT_TRUE(IsFinite(torch::full({}, -6e4, type))) << type;
  }
  EXPECT_TRUE(IsFinite(torch::full({1000}, 3e38F)));
  EXPECT_TRUE(IsFinite(torch::full({1000}, 1e308, at::kDouble)));
  EXPECT_TRUE(IsFinite(torch::empty({0})));
  EXPECT_TRUE(IsFinite(torch::full({2}, int64_t{1} << 62)));
}

TEST(FiniteTest, OneNonFiniteValueIsEnough) {
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const float bad : {kInfinity, -kInfinity, kNotANumber}) {
      for (const int64_t place : {0, 77, 999}) {
        at::Tensor values = torch::ones({1000}, type);
        values[place] = bad;
        EXPECT_FALSE(IsFinite(values)) << type << ", " << bad;
        EXPECT_FALSE(IsFinite(values.view({20, 50}).t())) << type;
      }
    }
  }
}

}  // namespace
}  // namespace gandem
