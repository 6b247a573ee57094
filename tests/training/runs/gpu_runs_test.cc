// SPDX-License-Identifier: Apache-2.0
//
// Whole runs on a GPU: decoupled equals colocated, and a repeated run is equal
// bit for bit, in all feedback modes; in float64 they equal those of the CPU.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"
#include "training/compute/compute.h"

namespace gandem {
namespace {

using gandem::testing::ExpectSame;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::SmallConfig;
using gandem::testing::TempDir;

void PutOn(const std::string& device, RunConfig& config) {
  config.mutable_generator()->set_device(device);
  config.mutable_discriminator()->set_device(device);
}

void SetPrecision(RoleConfig::Precision precision, RunConfig& config) {
  config.mutable_generator()->set_precision(precision);
  config.mutable_discriminator()->set_precision(precision);
}

class GpuRunsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  }

  RunConfig Config(const std::string& family,
                   ScheduleConfig::FeedbackMode feedback) {
    RunConfig config = SmallConfig(family, folder_.path());
    config.set_rounds(4);
    config.mutable_checkpoint()->set_every_rounds(0);
    ScheduleConfig& schedule = *config.mutable_schedule();
    schedule.set_lag(1);
    schedule.set_image_source(ScheduleConfig::REUSED);
    schedule.set_feedback(feedback);
    config.mutable_generator()->set_batch_size(6);
    config.mutable_discriminator()->set_batch_size(6);
    config.mutable_generator()->set_micro_batch(4);
    config.mutable_discriminator()->set_micro_batch(3);
    PutOn("cuda:0", config);
    return config;
  }

  TempDir folder_;
};

TEST_F(GpuRunsTest, DecoupledEqualsColocatedAndARepeatedRun) {
  // Kernel settings belong to the process, which the two roles of a decoupled
  // run share here: this test sets what both would set at their start.
  const KernelScope kernels({.device = at::Device(at::kCUDA, 0)});
  for (const char* family : {"dcgan", "sndcgan"}) {
    for (const auto precision : {RoleConfig::FLOAT32, RoleConfig::BFLOAT16}) {
      for (const auto feedback :
           {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
            ScheduleConfig::FUSED}) {
        SCOPED_TRACE(::testing::Message()
                     << family << " " << RoleConfig::Precision_Name(precision)
                     << " " << ScheduleConfig::FeedbackMode_Name(feedback));
        RunConfig config = Config(family, feedback);
        SetPrecision(precision, config);
        ASSERT_OK_AND_ASSIGN(const SavedStates colocated, RunPair(config, {}));
        ASSERT_OK_AND_ASSIGN(const SavedStates again, RunPair(config, {}));
        ExpectSame(colocated, again);
        ASSERT_OK_AND_ASSIGN(
            const SavedStates decoupled,
            RunPair(config, {.decoupled = true, .delay_seed = 7}));
        ExpectSame(colocated, decoupled);
      }
    }
  }
}

double LargestDifference(const NamedTensor& a, const NamedTensor& b) {
  if (a.dtype != DType::kF64) return a.bytes.size() == b.bytes.size() ? 0 : 1;
  double largest = 0;
  for (size_t at = 0; at < a.bytes.size(); at += sizeof(double)) {
    double of_a = 0;
    double of_b = 0;
    std::memcpy(&of_a, a.bytes.data() + at, sizeof(double));
    std::memcpy(&of_b, b.bytes.data() + at, sizeof(double));
    largest = std::max(largest, std::abs(of_a - of_b));
  }
  return largest;
}

TEST_F(GpuRunsTest, InFloat64AGpuEqualsTheCpu) {
  for (const char* family : {"dcgan", "sndcgan"}) {
    SCOPED_TRACE(family);
    RunConfig config = Config(family, ScheduleConfig::FUSED);
    SetPrecision(RoleConfig::FLOAT64, config);
    config.mutable_exchange()->set_image_encoding(ExchangeConfig::FLOAT64);
    config.mutable_exchange()->set_feedback_encoding(ExchangeConfig::FLOAT64);
    ASSERT_OK_AND_ASSIGN(const SavedStates on_gpu, RunPair(config, {}));
    PutOn("cpu", config);
    ASSERT_OK_AND_ASSIGN(const SavedStates on_cpu, RunPair(config, {}));
    ASSERT_EQ(on_gpu.size(), on_cpu.size());
    for (const auto& [file, tensors] : on_gpu.at(4)) {
      const auto& expected = on_cpu.at(4).at(file);
      ASSERT_EQ(tensors.size(), expected.size());
      for (size_t i = 0; i < tensors.size(); ++i) {
        ASSERT_EQ(tensors[i].shape, expected[i].shape);
        EXPECT_LT(LargestDifference(tensors[i], expected[i]), 1e-9)
            << tensors[i].name;
      }
    }
  }
}

TEST_F(GpuRunsTest, TrainsWithoutDeterminism) {
  RunConfig config = Config("dcgan", ScheduleConfig::SNAPSHOT);
  config.mutable_generator()->set_deterministic(false);
  config.mutable_discriminator()->set_deterministic(false);
  int rounds = 0;
  ASSERT_OK(RunPair(config, {.report =
                                 [&](const RoundMetrics& round) {
                                   EXPECT_TRUE(std::isfinite(round.loss()));
                                   ++rounds;
                                 }})
                .status());
  EXPECT_EQ(rounds, 2 * 4);
}

}  // namespace
}  // namespace gandem
