// SPDX-License-Identifier: Apache-2.0
//
// Probes of a role on a GPU.
#include <gtest/gtest.h>

#include "common/status.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/worker/profile/probed.h"
#include "worker/profile/probe_run.h"

namespace gandem {
namespace {

using gandem::testing::Factories;
using gandem::testing::ProbedConfig;
using gandem::testing::TempDir;

// Measures the discriminator on the first GPU.
absl::StatusOr<Probe> Measured() {
  const TempDir folder;
  RunConfig config = ProbedConfig(folder.path(), ScheduleConfig::FUSED);
  config.mutable_discriminator()->set_device("cuda:0");
  GANDEM_ASSIGN_OR_RETURN(const auto run,
                          ProbeRun::Create(DISCRIMINATOR, Factories(), config));
  GANDEM_RETURN_IF_ERROR(run->WarmUp().status());
  return run->Measure(absl::Milliseconds(100), /*until_settled=*/true);
}

TEST(GpuProbeTest, TheMemoryOfTheGpuIsMeasured) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  ASSERT_OK_AND_ASSIGN(const Probe probe, Measured());
  const DeviceMemory& memory = probe.device_memory();
  EXPECT_GT(memory.resting_bytes(), 0);
  EXPECT_GE(memory.peak_bytes(), memory.resting_bytes());
  EXPECT_GT(memory.total_bytes(), memory.peak_bytes());
  constexpr int64_t kMore = int64_t{256} << 20;
  const auto more = torch::zeros(
      {kMore}, torch::TensorOptions(torch::kCUDA).dtype(torch::kByte));
  ASSERT_OK_AND_ASSIGN(const Probe beside, Measured());
  EXPECT_GE(beside.device_memory().peak_bytes(), memory.peak_bytes() + kMore);
}

TEST(GpuProbeTest, OperationsTakeNoLongerThanTheirRound) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  ASSERT_OK_AND_ASSIGN(const Probe probe, Measured());
  double sum = 0;
  for (const OperationTime& time : probe.operations()) {
    EXPECT_GT(time.median_seconds(), 0) << time.DebugString();
    sum += time.median_seconds();
  }
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, probe.round().median_seconds() * (1 + 1e-9));
}

}  // namespace
}  // namespace gandem
