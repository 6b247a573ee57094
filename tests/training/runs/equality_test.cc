// SPDX-License-Identifier: Apache-2.0
//
// Equality of runs (design.md section 10.1): with one worker per role the
// decoupled run equals the colocated run bit for bit, whatever the delays; both
// feedback modes give the same bits; and lag 0 differs from lag 1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::ExpectSame;
using gandem::testing::PairOptions;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;

// family, L, R, fresh, micro-batches, optimism
using EqualityCell = std::tuple<std::string, int, int, bool, int, bool>;

std::string EqualityCellName(
    const ::testing::TestParamInfo<EqualityCell>& info) {
  const auto& [family, lag, steps, fresh, micro, optimism] = info.param;
  return absl::StrCat(family, "_L", lag, "_R", steps,
                      fresh ? "_FRESH" : "_REUSED", "_micro", micro,
                      optimism ? "_optimism" : "");
}

class EqualityTest : public ::testing::TestWithParam<EqualityCell> {
 protected:
  RunConfig Config(ScheduleConfig::FeedbackMode feedback) {
    const auto& [family, lag, steps, fresh, micro, optimism] = GetParam();
    RunConfig config = gandem::testing::SmallConfig(family, folder_.path());
    config.set_rounds(5);
    config.mutable_checkpoint()->set_every_rounds(0);
    ScheduleConfig& schedule = *config.mutable_schedule();
    schedule.set_lag(lag);
    schedule.set_discriminator_steps_per_round(steps);
    schedule.set_image_source(fresh ? ScheduleConfig::FRESH
                                    : ScheduleConfig::REUSED);
    schedule.set_feedback(feedback);
    // REUSED wants R * B_D == B_G; FRESH may as well have different sizes.
    config.mutable_generator()->set_batch_size(fresh ? 5 : 4 * steps);
    config.mutable_discriminator()->set_batch_size(4);
    if (micro == 2) {
      config.mutable_generator()->set_micro_batch(3);
      config.mutable_discriminator()->set_micro_batch(2);
    }
    if (optimism) {
      config.mutable_generator()->mutable_optimizer()->set_optimism(1);
      config.mutable_discriminator()->mutable_optimizer()->set_optimism(0.5);
    }
    return config;
  }

  gandem::testing::TempDir folder_;
};

TEST_P(EqualityTest, DecoupledEqualsColocatedInBothFeedbackModes) {
  SavedStates by_mode[2];
  for (const auto feedback :
       {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT}) {
    const RunConfig config = Config(feedback);
    ASSERT_OK_AND_ASSIGN(by_mode[feedback], RunPair(config, {}));
    ASSERT_OK_AND_ASSIGN(const SavedStates decoupled,
                         RunPair(config, {.decoupled = true, .delay_seed = 7}));
    ASSERT_EQ(by_mode[feedback].at(config.rounds()).size(), 2u);
    ExpectSame(by_mode[feedback], decoupled);
  }
  // Older critics are saved in both modes as well.
  ExpectSame(by_mode[0], by_mode[1]);
}

INSTANTIATE_TEST_SUITE_P(Grid, EqualityTest,
                         ::testing::Combine(::testing::Values("mlp", "dcgan"),
                                            ::testing::Values(0, 1, 2, 3),
                                            ::testing::Values(1, 2),
                                            ::testing::Bool(),
                                            ::testing::Values(1, 2),
                                            ::testing::Values(false)),
                         EqualityCellName);
// Spectral norm's vectors and batch norm on the other side of the table.
INSTANTIATE_TEST_SUITE_P(
    SpectralNorm, EqualityTest,
    ::testing::Combine(::testing::Values("sndcgan"), ::testing::Values(0, 2),
                       ::testing::Values(1, 2), ::testing::Bool(),
                       ::testing::Values(2), ::testing::Values(false)),
    EqualityCellName);
// Noise inputs, and a discriminator that compares images.
INSTANTIATE_TEST_SUITE_P(
    Styles, EqualityTest,
    ::testing::Combine(::testing::Values("stylegan2"), ::testing::Values(0, 1),
                       ::testing::Values(1, 2), ::testing::Bool(),
                       ::testing::Values(1, 2), ::testing::Values(false)),
    EqualityCellName);
// Each side draws the labels of generated images for itself.
INSTANTIATE_TEST_SUITE_P(Classes, EqualityTest,
                         ::testing::Combine(::testing::Values("mlp_classes"),
                                            ::testing::Values(0, 1, 2),
                                            ::testing::Values(1, 2),
                                            ::testing::Bool(),
                                            ::testing::Values(1, 2),
                                            ::testing::Values(false)),
                         EqualityCellName);
// Optimism makes up for a lag in both kinds of run alike.
INSTANTIATE_TEST_SUITE_P(Optimism, EqualityTest,
                         ::testing::Combine(::testing::Values("mlp", "dcgan"),
                                            ::testing::Values(0, 1, 2),
                                            ::testing::Values(1, 2),
                                            ::testing::Values(false),
                                            ::testing::Values(2),
                                            ::testing::Values(true)),
                         EqualityCellName);

}  // namespace
}  // namespace gandem
