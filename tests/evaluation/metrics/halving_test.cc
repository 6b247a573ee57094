// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/halving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/metrics/feature_moments.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;

// Compares with the spread of a distance to a fixed reference that
// tests/oracles/sampling_goldens.py measured: right for different sets, too
// large where the distance is only bias.
TEST(HalvingTest, SpreadThatTheOracleMeasured) {
  const Golden golden("sampling.safetensors");
  const at::Tensor cases = golden.Get("spread");
  for (int64_t i = 0; i < cases.size(0); ++i) {
    const auto n = cases[i][1].item<int64_t>();
    const bool same = cases[i][3].item<double>() == 0;
    const auto measured = cases[i][4].item<double>();
    ASSERT_OK_AND_ASSIGN(
        const Moments moments,
        MomentsOf(golden.Get(absl::StrCat("reference.", i)).to(at::kDouble)));
    ASSERT_OK_AND_ASSIGN(const FrechetReference reference,
                         FrechetReference::Create(moments));
    const at::Tensor samples =
        golden.Get(absl::StrCat("samples.", i)).to(at::kDouble);
    double squares = 0;
    for (int64_t sample = 0; sample < samples.size(0); ++sample) {
      ASSERT_OK_AND_ASSIGN(
          const double sd,
          HalvingSd(n, {},
                    [&](const at::Tensor& rows) -> absl::StatusOr<double> {
                      GANDEM_ASSIGN_OR_RETURN(
                          const Moments half,
                          MomentsOf(samples[sample].index_select(0, rows)));
                      return reference.DistanceTo(half);
                    }));
      squares += sd * sd;
    }
    const double ratio =
        std::sqrt(squares / static_cast<double>(samples.size(0))) / measured;
    EXPECT_GT(ratio, 0.8) << i;
    // Eight samples of 16 rows give the spread only to 9 %; the bounds allow
    // three times that.
    const bool few = n < cases[i][0].item<int64_t>();
    const double most = same ? (few ? 1.9 : 1.5) : (few ? 1.5 : 1.25);
    EXPECT_LT(ratio, most) << i;
  }
}

TEST(HalvingTest, SdOfAMeanEqualsTheTheory) {
  const at::Tensor x_ND = RandomNormal(401, 1, 2) * 3;
  const auto mean = [&x_ND](const at::Tensor& rows) -> absl::StatusOr<double> {
    EXPECT_EQ(rows.numel(), 200);
    return x_ND.index_select(0, rows).mean().item<double>();
  };
  ASSERT_OK_AND_ASSIGN(const double sd,
                       HalvingSd(401, {.halvings = 500}, mean));
  EXPECT_NEAR(sd, x_ND.std().item<double>() / 20, 0.1 * 3.0 / 20);
  ASSERT_OK_AND_ASSIGN(const double again,
                       HalvingSd(401, {.halvings = 500}, mean));
  EXPECT_EQ(sd, again);
  ASSERT_OK_AND_ASSIGN(const double other,
                       HalvingSd(401, {.halvings = 500, .seed = 1}, mean));
  EXPECT_NE(sd, other);
}

TEST(HalvingTest, HalvesShareNoRow) {
  std::vector<at::Tensor> halves;
  ASSERT_OK(HalvingSd(10, {.halvings = 2},
                      [&](const at::Tensor& rows) -> absl::StatusOr<double> {
                        halves.push_back(rows.clone());
                        return 0.0;
                      })
                .status());
  ASSERT_EQ(halves.size(), 4u);
  const at::Tensor all = torch::arange(10);
  EXPECT_TRUE(std::get<0>(at::cat({halves[0], halves[1]}).sort()).equal(all));
  EXPECT_TRUE(std::get<0>(at::cat({halves[2], halves[3]}).sort()).equal(all));
  EXPECT_FALSE(halves[0].equal(halves[2]));
}

TEST(HalvingTest, FirstErrorEndsIt) {
  int calls = 0;
  EXPECT_THAT(HalvingSd(5, {},
                        [&calls](const at::Tensor&) -> absl::StatusOr<double> {
                          ++calls;
                          return absl::DataLossError("bad");
                        }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(calls, 1);
}

TEST(HalvingTest, BadOptions) {
  const auto one = [](const at::Tensor&) -> absl::StatusOr<double> {
    return 1.0;
  };
  EXPECT_THAT(HalvingSd(3, {}, one),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(HalvingSd(5, {.halvings = 0}, one),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace gandem
