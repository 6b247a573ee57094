// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/sample_noise.h"

#include <gtest/gtest.h>

#include "common/philox.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

TEST(SampleNoiseTest, EqualsTheNoiseOfARunsGrids) {
  const at::Tensor noise = SampleNoise(5, {}, 7, {.first = 3, .count = 2});
  at::Tensor expected = torch::empty({2, 7});
  for (int64_t i = 0; i < 2; ++i) {
    PhiloxStream(5, Purpose::kSample, 0, static_cast<uint64_t>(3 + i))
        .FillNormal({expected.mutable_data_ptr<float>() + 7 * i, 7});
  }
  EXPECT_TRUE(noise.equal(expected));
}

TEST(SampleNoiseTest, TruncationDrawsAgain) {
  const at::Tensor all = SampleNoise(5, {}, 1000, {.first = 0, .count = 1});
  const at::Tensor truncated =
      SampleNoise(5, {.truncation = 0.5}, 1000, {.first = 0, .count = 1});
  EXPECT_LE(truncated.abs().max().item<double>(), 0.5);
  // Values inside the range stay, in their order.
  const at::Tensor inside = all.masked_select(all.abs() <= 0.5);
  EXPECT_TRUE(truncated[0].narrow(0, 0, inside.numel()).equal(inside));
  // The deviation of a normal variable truncated to [-0.5, 0.5].
  EXPECT_NEAR(truncated.std().item<double>(), 0.2841, 0.01);
}

// Unlike truncation, a scale draws nothing again and bounds no value.
TEST(SampleNoiseTest, ScaleShrinksEveryValue) {
  const at::Tensor all = SampleNoise(5, {}, 1000, {.first = 0, .count = 1});
  const at::Tensor scaled =
      SampleNoise(5, {.scale = 0.5}, 1000, {.first = 0, .count = 1});
  EXPECT_TRUE(scaled.equal(0.5 * all));
  EXPECT_GT(scaled.abs().max().item<double>(), 0.5);
}

TEST(SampleNoiseTest, OptionsAreChecked) {
  for (const double bad : {-1.0, 0.001, 8.0, std::nan("")}) {
    Faults faults("noise");
    CheckNoise({.truncation = bad}, faults);
    EXPECT_FALSE(faults.empty()) << bad;
  }
  for (const double bad : {-1.0, 0.0, 11.0, std::nan("")}) {
    Faults faults("noise");
    CheckNoise({.scale = bad}, faults);
    EXPECT_FALSE(faults.empty()) << bad;
  }
  for (const double bad : {-2.1, 2.1, std::nan("")}) {
    Faults faults("noise");
    CheckNoise({.psi = bad}, faults);
    EXPECT_FALSE(faults.empty()) << bad;
  }
  Faults faults("noise");
  CheckNoise({}, faults);
  CheckNoise({.truncation = 0.7, .scale = 0.5, .psi = -1}, faults);
  EXPECT_TRUE(faults.empty());
}

TEST(SampleNoiseTest, InterpolationKeepsItsEndsAndItsLength) {
  const int64_t steps = 9;
  const at::Tensor ways = InterpolatedNoise(5, {}, 512, /*rows=*/2, steps);
  ASSERT_EQ(ways.size(0), 2 * steps);
  const at::Tensor ends = SampleNoise(5, {}, 512, {.first = 0, .count = 4});
  EXPECT_TRUE(ways[0].allclose(ends[0], 1e-6, 1e-6));
  EXPECT_TRUE(ways[steps - 1].allclose(ends[1], 1e-6, 1e-6));
  EXPECT_TRUE(ways[steps].allclose(ends[2], 1e-6, 1e-6));
  EXPECT_TRUE(ways[2 * steps - 1].allclose(ends[3], 1e-6, 1e-6));
  // A straight line would pass at 0.7 of the length.
  const at::Tensor lengths = ways.norm(2, {1});
  EXPECT_GT(lengths.min().item<double>(),
            0.97 * ends.norm(2, {1}).min().item<double>());
  // Equal angles make equal distances between steps.
  const at::Tensor middle = ways.narrow(0, 0, steps);
  const at::Tensor moves =
      (middle.narrow(0, 1, steps - 1) - middle.narrow(0, 0, steps - 1))
          .norm(2, {1});
  EXPECT_LT((moves.max() / moves.min()).item<double>(), 1.1);
}

TEST(SampleNoiseTest, FromASampleToItself) {
  // One dimension has two directions only: no great circle between equal ones.
  const at::Tensor ways = InterpolatedNoise(5, {}, 1, /*rows=*/20, 3);
  EXPECT_TRUE(ways.isfinite().all().item<bool>());
}

// The points are on the circle through both ends, at angles proportional to t.
TEST(SampleNoiseTest, PairsOfAPathLieOnTheCircle) {
  constexpr int64_t kDim = 512;
  constexpr double kEpsilon = 1e-2;
  const IndexRange range = {.first = 2, .count = 3};
  const at::Tensor path = PathNoise(5, {}, kDim, range, kEpsilon);
  ASSERT_EQ(path.sizes(), at::IntArrayRef({2, 3, kDim}));
  const at::Tensor ends = SampleNoise(5, {}, kDim, {.first = 4, .count = 6});
  const auto angle = [](const at::Tensor& a, const at::Tensor& b) {
    return std::acos((a.dot(b) / (a.norm() * b.norm())).item<double>());
  };
  for (int64_t row = 0; row < 3; ++row) {
    const at::Tensor a = ends[2 * row].to(at::kDouble);
    const at::Tensor b = ends[2 * row + 1].to(at::kDouble);
    const double whole = angle(a, b);
    // The ends have nearly one length, so angles are proportional to t.
    EXPECT_NEAR(angle(path[0][row], path[1][row]) / whole, kEpsilon,
                0.1 * kEpsilon);
    const double t = angle(a, path[0][row]) / whole;
    EXPECT_GE(t, 0);
    EXPECT_LT(t, 1);
    EXPECT_GT(angle(a, path[1][row]) / whole, t);
  }
  // A row does not depend on the others.
  EXPECT_TRUE(PathNoise(5, {}, kDim, {.first = 3, .count = 1}, kEpsilon)
                  .equal(path.narrow(1, 1, 1)));
}

}  // namespace
}  // namespace gandem
