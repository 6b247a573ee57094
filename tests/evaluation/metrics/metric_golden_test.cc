// SPDX-License-Identifier: Apache-2.0
//
// Compares metrics of the same features with torch-fidelity and pytorch-fid
// (tests/oracles/metric_goldens.py).
#include <gtest/gtest.h>

#include "evaluation/metrics/frechet_distance.h"
#include "evaluation/metrics/inception_score.h"
#include "evaluation/metrics/kernel_distance.h"
#include "evaluation/metrics/precision_recall.h"
#include "models/torch.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Golden;

double Value(const Golden& golden, const char* name, int64_t index = 0) {
  return golden.Get(name).reshape({-1})[index].item<double>();
}

TEST(MetricGoldenTest, FrechetDistance) {
  const Golden golden("metrics.safetensors");
  ASSERT_OK_AND_ASSIGN(const Moments reference,
                       MomentsOf(golden.Get("reference")));
  ASSERT_OK_AND_ASSIGN(const Moments generated,
                       MomentsOf(golden.Get("generated")));
  ASSERT_OK_AND_ASSIGN(const double distance,
                       FrechetDistance(reference, generated));
  for (const char* name :
       {"frechet_distance.torch_fidelity", "frechet_distance.pytorch_fid"}) {
    const double theirs = Value(golden, name);
    EXPECT_NEAR(distance, theirs, 1e-10 * theirs) << name;
  }
}

TEST(MetricGoldenTest, KernelDistance) {
  const Golden golden("metrics.safetensors");
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd distance,
      KernelDistanceOfSubsets(golden.Get("reference"), golden.Get("generated"),
                              golden.Get("reference_rows"),
                              golden.Get("generated_rows")));
  EXPECT_NEAR(distance.mean, Value(golden, "kernel_distance", 0), 1e-10);
  EXPECT_NEAR(distance.sd, Value(golden, "kernel_distance", 1), 1e-10);
}

TEST(MetricGoldenTest, InceptionScore) {
  const Golden golden("metrics.safetensors");
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd score,
      InceptionScoreInOrder(
          golden.Get("logits").index_select(0, golden.Get("order")), 10));
  EXPECT_NEAR(score.mean, Value(golden, "inception_score", 0), 1e-10);
  EXPECT_NEAR(score.sd, Value(golden, "inception_score", 1), 1e-10);
}

// The golden's counts of rows went through float32.
TEST(MetricGoldenTest, PrecisionRecallDensityCoverage) {
  const Golden golden("metrics.safetensors");
  ASSERT_OK_AND_ASSIGN(
      const PrecisionRecall result,
      ComputePrecisionRecall(golden.Get("reference"), golden.Get("generated")));
  EXPECT_NEAR(result.precision, Value(golden, "precision_recall", 0), 1e-7);
  EXPECT_NEAR(result.recall, Value(golden, "precision_recall", 1), 1e-7);
  EXPECT_NEAR(result.density, Value(golden, "density_coverage", 0), 1e-12);
  EXPECT_NEAR(result.coverage, Value(golden, "density_coverage", 1), 1e-12);
}

}  // namespace
}  // namespace gandem
