// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/scaling/failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gandem {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Ge;
using ::testing::Lt;

constexpr FailureModel kModel = {
    .mean_between = 3600, .checkpoint = 5, .restart = 60};

TEST(FailuresTest, YoungAndDaly) {
  EXPECT_THAT(YoungInterval(kModel), DoubleEq(std::sqrt(36000)));
  // 189.7366596 (1 + sqrt(5 / 7200) / 3 + 5 / 7200 / 9) - 5
  EXPECT_THAT(BestInterval(kModel), DoubleNear(186.4180, 1e-3));
  EXPECT_THAT(BestInterval({.mean_between = 10, .checkpoint = 20}),
              DoubleEq(10));
}

TEST(FailuresTest, TheBestIntervalIsTheBest) {
  const double best = BestInterval(kModel);
  const double share = UsefulShare(kModel, best);
  for (const double factor : {0.5, 0.8, 1.25, 2.0}) {
    EXPECT_THAT(share, Ge(UsefulShare(kModel, factor * best)));
  }
  // Within a tenth of it nothing is won.
  EXPECT_THAT(UsefulShare(kModel, 1.1 * best), DoubleNear(share, 1e-3));
}

TEST(FailuresTest, TheFormulaIsThatOfASimulation) {
  for (const double interval : {60.0, 186.0, 1800.0}) {
    EXPECT_THAT(SimulatedUsefulShare(kModel, interval, 200000, /*seed=*/1),
                DoubleNear(UsefulShare(kModel, interval), 0.005))
        << interval;
  }
  const FailureModel often = {
      .mean_between = 100, .checkpoint = 5, .restart = 60};
  EXPECT_THAT(SimulatedUsefulShare(often, 30, 200000, /*seed=*/2),
              DoubleNear(UsefulShare(often, 30), 0.005));
}

TEST(FailuresTest, WithoutFailuresOnlyCheckpointsCost) {
  const FailureModel model = {.checkpoint = 5};
  EXPECT_THAT(UsefulShare(model, 95), DoubleEq(0.95));
  EXPECT_THAT(SimulatedUsefulShare(model, 95, 100, /*seed=*/1), DoubleEq(0.95));
}

TEST(FailuresTest, MoreFailuresLeaveLess) {
  FailureModel model = kModel;
  double last = 1;
  for (const double mean : {1e6, 1e5, 1e4, 1e3, 1e2}) {
    model.mean_between = mean;
    const double share = UsefulShare(model, BestInterval(model));
    EXPECT_THAT(share, Lt(last));
    last = share;
  }
}

}  // namespace
}  // namespace gandem
