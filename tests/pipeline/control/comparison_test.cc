// SPDX-License-Identifier: Apache-2.0
//
// The controller on committed traces. Three its constants were tuned on; three
// were recorded by benchmarks/pipeline_links.py and were not.
#include "pipeline/control/comparison.h"

#include <gtest/gtest.h>

#include "tests/pipeline/control/pipelines.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::kMemory;
using ::gandem::testing::TracePath;

class ComparisonTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ComparisonTest, TheControllerLosesLittle) {
  const auto trace = ReadPipelineTrace(TracePath(GetParam()));
  ASSERT_OK(trace.status());
  const PipelineComparison seen = ComparePipelines(*trace, kMemory);
  const SimulatedRun& controller = seen.controller;
  const double lost = controller.stalled_seconds + controller.stolen_seconds;
  EXPECT_LE(lost, 1.2 * seen.least_stall + 1e-6);
  EXPECT_LE(lost, (seen.best_static.run.stalled_seconds +
                   seen.best_static.run.stolen_seconds) /
                          4 +
                      1e-6);
  EXPECT_LE(seen.best_static.run.average_bytes, controller.average_bytes);
  EXPECT_LE(controller.peak_bytes, 1.1 * static_cast<double>(kMemory));
  EXPECT_EQ(seen.warning, "");
  // Nine settings and two rules of others; most of them lose much more.
  ASSERT_EQ(seen.others.size(), 11);
  int64_t worse = 0;
  for (const ComparedRun& other : seen.others) {
    EXPECT_GE(other.run.stalled_seconds, seen.least_stall);
    if (other.run.LostShare() > controller.LostShare() + 0.01) ++worse;
  }
  EXPECT_GE(worse, 5);
}

INSTANTIATE_TEST_SUITE_P(TunedOn, ComparisonTest,
                         ::testing::Values("jitter", "outages", "drops"));
INSTANTIATE_TEST_SUITE_P(Recorded, ComparisonTest,
                         ::testing::Values("loss", "unplugged", "neighbors"));

}  // namespace
}  // namespace gandem
