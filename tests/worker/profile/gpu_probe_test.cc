// SPDX-License-Identifier: Apache-2.0
//
// Probes of a role on a GPU.
#include <gtest/gtest.h>

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

TEST(GpuProbeTest, MeasuresTheGpusMemory) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const TempDir folder;
  RunConfig config = ProbedConfig(folder.path(), ScheduleConfig::FUSED);
  config.mutable_discriminator()->set_device("cuda:0");
  const auto measure = [&] {
    auto run = ProbeRun::Create(DISCRIMINATOR, Factories(), config).value();
    EXPECT_OK(run->WarmUp());
    return run->Measure(absl::Milliseconds(100), true)->device_memory();
  };
  const DeviceMemory memory = measure();
  EXPECT_GT(memory.resting_bytes(), 0);
  EXPECT_GE(memory.peak_bytes(), memory.resting_bytes());
  EXPECT_GT(memory.total_bytes(), memory.peak_bytes());
  constexpr int64_t kMore = int64_t{256} << 20;
  const auto more = torch::zeros(
      {kMore}, torch::TensorOptions(torch::kCUDA).dtype(torch::kByte));
  EXPECT_GE(measure().peak_bytes(), memory.peak_bytes() + kMore);
}

}  // namespace
}  // namespace gandem
