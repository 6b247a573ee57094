// SPDX-License-Identifier: Apache-2.0
//
// Several workers per role train one network (design.md sections 7, 10.6):
// their ranks end with the same bits, which differ from those of one worker by
// the order of sums only and do not depend on timing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/fleet_runs.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::Differences;
using gandem::testing::Distance;
using gandem::testing::ExpectClose;
using gandem::testing::ExpectRanksAgree;
using gandem::testing::Final;
using gandem::testing::Float64;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::SetWorkers;
using gandem::testing::Train;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Tensors = std::vector<NamedTensor>;

// generators, discriminators, L, R, fresh, feedback
using Cell = std::tuple<int, int, int, int, bool, ScheduleConfig::FeedbackMode>;

std::string CellName(const ::testing::TestParamInfo<Cell>& info) {
  const auto& [generators, discriminators, lag, steps, fresh, feedback] =
      info.param;
  return absl::StrCat("G", generators, "_D", discriminators, "_L", lag, "_R",
                      steps, fresh ? "_FRESH_" : "_REUSED_",
                      ScheduleConfig::FeedbackMode_Name(feedback));
}

class FleetTest : public ::testing::TestWithParam<Cell> {
 protected:
  gandem::testing::TempDir folder_;
};

TEST_P(FleetTest, EqualsOneWorkerPerRole) {
  const auto& [generators, discriminators, lag, steps, fresh, feedback] =
      GetParam();
  RunConfig config =
      Float64(gandem::testing::SmallConfig("mlp", folder_.path()));
  ScheduleConfig& schedule = *config.mutable_schedule();
  schedule.set_lag(lag);
  schedule.set_discriminator_steps_per_round(steps);
  schedule.set_image_source(fresh ? ScheduleConfig::FRESH
                                  : ScheduleConfig::REUSED);
  schedule.set_feedback(feedback);
  config.mutable_generator()->set_batch_size(fresh ? 5 : 7 * steps);
  config.mutable_generator()->set_micro_batch(3);
  config.mutable_generator()->set_clip_gradient_norm(0.05);
  const SavedStates one = Train(config);
  SetWorkers(generators, discriminators, config);
  const SavedStates fleet = Train(config);
  ExpectClose(fleet, one, 1e-8);
  ExpectRanksAgree(fleet, config);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, FleetTest,
    ::testing::Combine(::testing::Values(1, 3), ::testing::Values(2, 3),
                       ::testing::Values(1), ::testing::Values(2),
                       ::testing::Bool(),
                       ::testing::Values(ScheduleConfig::SNAPSHOT,
                                         ScheduleConfig::IMAGE_GRADIENT)),
    CellName);
INSTANTIATE_TEST_SUITE_P(
    Lags, FleetTest,
    ::testing::Combine(::testing::Values(2), ::testing::Values(1, 2),
                       ::testing::Values(0, 2), ::testing::Values(1),
                       ::testing::Values(false),
                       ::testing::Values(ScheduleConfig::SNAPSHOT,
                                         ScheduleConfig::IMAGE_GRADIENT)),
    CellName);

// Requests are cut where another discriminator trains on the images.
INSTANTIATE_TEST_SUITE_P(
    Fused, FleetTest,
    ::testing::Combine(::testing::Values(1, 3), ::testing::Values(1, 2, 3),
                       ::testing::Values(1), ::testing::Values(1, 2),
                       ::testing::Values(false),
                       ::testing::Values(ScheduleConfig::FUSED)),
    CellName);

TEST(FleetsTest, DelaysChangeNoBit) {
  const gandem::testing::TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("dcgan", folder.path());
  config.set_rounds(3);
  SetWorkers(2, 2, config);
  const SavedStates a = Train(config, /*delay_seed=*/1);
  const SavedStates b = Train(config, /*delay_seed=*/20);
  for (const char* role : {"generator", "discriminator"}) {
    EXPECT_THAT(Differences(Final(a, role, 0), Final(b, role, 0)), IsEmpty());
  }
  ExpectRanksAgree(a, config);
}

// Spectral norm's vectors take one step in each forward pass. One generator:
// batch norm sees the images of one rank; and gradients of biases before it are
// rounding errors, so only the discriminator is compared.
TEST(FleetsTest, SpectralNormEqualsOneWorker) {
  const gandem::testing::TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("sndcgan", folder.path()));
  const SavedStates one = Train(config);
  SetWorkers(1, 3, config);
  const SavedStates fleet = Train(config);
  EXPECT_LT(Distance(Final(fleet, "discriminator", 0),
                     Final(one, "discriminator", 0)),
            1e-8);
  ExpectRanksAgree(fleet, config);
}

TEST(FleetsTest, EverySecondBatchEqualsTheDoubleBatch) {
  for (const int lag : {0, 1, 2}) {
    const gandem::testing::TempDir folder;
    RunConfig twice =
        Float64(gandem::testing::SmallConfig("mlp", folder.path()));
    twice.mutable_schedule()->set_lag(lag);
    RunConfig large = twice;
    for (RoleConfig* role :
         {twice.mutable_generator(), twice.mutable_discriminator()}) {
      role->mutable_sync()->set_interval(2);
    }
    SetWorkers(2, 2, twice);
    for (RoleConfig* role :
         {large.mutable_generator(), large.mutable_discriminator()}) {
      role->set_batch_size(14);
    }
    const SavedStates fleet = Train(twice);
    ExpectClose(fleet, Train(large), 1e-8);
    ExpectRanksAgree(fleet, twice);
  }
}

// Shares of each rank of a role, put together.
Tensors Together(const std::map<std::string, Tensors>& files,
                 const std::string& role) {
  Tensors all;
  for (const auto& [name, tensors] : files) {
    if (!absl::StartsWith(name, role)) continue;
    all.insert(all.end(), tensors.begin(), tensors.end());
  }
  return all;
}

// The state includes older critics, an average, and moments.
TEST(FleetsTest, SharesOfAllRanksAreTheState) {
  const gandem::testing::TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("dcgan", folder.path());
  config.set_rounds(3);
  config.mutable_schedule()->set_lag(3);
  SetWorkers(2, 3, config);
  const SavedStates whole = Train(config);
  ASSERT_OK_AND_ASSIGN(
      const SavedStates shares,
      RunPair(config, {.decoupled = true, .saves_shares = true}));
  for (const auto& [rounds, files] : shares) {
    EXPECT_THAT(files, SizeIs(5)) << rounds;
    for (const char* role : {"generator", "discriminator"}) {
      const Tensors& expected =
          whole.at(rounds).at(absl::StrCat(role, "-0.safetensors"));
      const Tensors together = Together(files, role);
      EXPECT_THAT(together, SizeIs(expected.size())) << role;
      EXPECT_THAT(Differences(together, expected), IsEmpty()) << role;
    }
  }
}

// Fleets of any size resume from a checkpoint of other fleets.
TEST(FleetsTest, OtherFleetsGoOnFromACheckpoint) {
  const gandem::testing::TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("mlp", folder.path()));
  config.mutable_schedule()->set_lag(2);
  config.mutable_ema()->set_decay(0.5);
  const SavedStates one = Train(config);
  std::string resume_from;
  std::vector<gandem::testing::TempDir> checkpoints(3);
  int64_t first_round = 0;
  for (const auto& [generators, discriminators] :
       std::vector<std::pair<int, int>>{{2, 2}, {1, 3}, {3, 1}}) {
    SetWorkers(generators, discriminators, config);
    ASSERT_OK_AND_ASSIGN(const SavedStates states,
                         RunPair(config, {.decoupled = true,
                                          .first_round = first_round,
                                          .resume_from = resume_from,
                                          .cut = first_round,
                                          .saves_shares = true}));
    ++first_round;
    const auto& files = states.at(first_round);
    ASSERT_THAT(files, SizeIs(generators + discriminators));
    resume_from = checkpoints[first_round - 1].path();
    gandem::testing::WriteStates(files, resume_from);
  }
  SetWorkers(1, 1, config);
  ASSERT_OK_AND_ASSIGN(const SavedStates last,
                       RunPair(config, {.first_round = first_round,
                                        .resume_from = resume_from}));
  ExpectClose(last, one, 1e-8);
}

TEST(FleetsTest, AveragesOfEveryRoundOfSgdEqualSumsOfGradients) {
  const gandem::testing::TempDir folder;
  RunConfig sums = Float64(gandem::testing::SmallConfig("mlp", folder.path()));
  SetWorkers(2, 3, sums);
  RunConfig averages = sums;
  for (RunConfig* config : {&sums, &averages}) {
    for (RoleConfig* role :
         {config->mutable_generator(), config->mutable_discriminator()}) {
      role->mutable_optimizer()->mutable_sgd()->set_learning_rate(0.05);
      if (config == &averages) {
        role->mutable_sync()->set_mode(SyncConfig::AVERAGE_STATE);
      }
    }
  }
  const SavedStates states = Train(averages);
  ExpectClose(states, Train(sums), 1e-8);
  ExpectRanksAgree(states, averages);
}

TEST(FleetsTest, RanksPartBetweenAveragesAndAgreeAtThem) {
  const gandem::testing::TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("mlp", folder.path()));
  config.set_rounds(6);
  config.mutable_ema()->set_decay(0.5);
  SetWorkers(2, 2, config);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->mutable_sync()->set_mode(SyncConfig::AVERAGE_STATE);
    role->mutable_sync()->set_interval(3);
    role->mutable_sync()->set_divergence_check_interval(1);
  }
  std::map<int, double> drift;  // by role, of rank 0
  absl::Mutex mu;
  auto states = RunPair(
      config, {.decoupled = true, .report = [&](const RoundMetrics& metrics) {
                 absl::MutexLock lock(&mu);
                 if (metrics.rank() == 0) {
                   drift[metrics.role()] = metrics.drift();
                 }
               }});
  ASSERT_OK(states.status());
  ExpectRanksAgree(*states, config);
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    EXPECT_GT(drift[role], 1e-8);
    EXPECT_LT(drift[role], 1e-1);
  }
  // Averaging is another algorithm than summing the gradients.
  RunConfig sums = config;
  for (RoleConfig* role :
       {sums.mutable_generator(), sums.mutable_discriminator()}) {
    role->mutable_sync()->Clear();
  }
  EXPECT_GT(Distance(Final(*states, "generator", 0),
                     Final(Train(sums), "generator", 0)),
            1e-6);
}

// --- The whole algorithm of one worker (design.md section 10.6) ---

struct Algorithm {
  std::string name;
  std::string text;  // of a RunConfig
  int64_t rounds = 20;
};

class AlgorithmTest : public ::testing::TestWithParam<Algorithm> {};

TEST_P(AlgorithmTest, TwentyStepsOfAnyFleetsEqualOneWorker) {
  const gandem::testing::TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("mlp", folder.path()));
  config.set_rounds(GetParam().rounds);
  config.mutable_data()->set_fit(RESIZE);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_batch_size(10);
    role->clear_network();
    role->mutable_sync()->set_bucket_bytes(2000);  // several
    // A bias before batch norm has a gradient of rounding errors only, which a
    // small eps would blow up.
    role->mutable_optimizer()->mutable_adam()->set_eps(1e-5);
  }
  RunConfig more;
  ASSERT_OK(ParseTextProto(GetParam().text, "algorithm", more));
  config.MergeFrom(more);
  const SavedStates one = Train(config);
  for (const auto& [generators, discriminators] :
       {std::pair(2, 3), std::pair(3, 4), std::pair(4, 2)}) {
    SCOPED_TRACE(absl::StrCat(generators, " + ", discriminators));
    SetWorkers(generators, discriminators, config);
    ASSERT_OK(ValidateRunConfig(config));
    const SavedStates fleet = Train(config);
    ExpectClose(fleet, one, 1e-8);
    ExpectRanksAgree(fleet, config);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, AlgorithmTest,
    ::testing::Values(
        Algorithm{.name = "Sngan", .text = R"(
          loss: HINGE
          data { image_size: 32 }
          generator {
            network { sndcgan { width: 2 noise_dim: 5 } }
            sync { batch_norm: true }
          }
          discriminator { network { sndcgan { width: 2 } } })"},
        Algorithm{.name = "FusedDcganWithSyncBatchNorm", .text = R"(
          data { image_size: 32 }
          schedule { feedback: FUSED }
          generator {
            network { dcgan { width: 2 noise_dim: 5 } }
            sync { batch_norm: true }
          }
          discriminator {
            network { dcgan { width: 2 } }
            sync { batch_norm: true }
          })"},
        Algorithm{.name = "FusedSngan", .text = R"(
          loss: HINGE
          data { image_size: 32 }
          schedule { feedback: FUSED }
          generator {
            network { sndcgan { width: 2 noise_dim: 5 } }
            sync { batch_norm: true }
          }
          discriminator { network { sndcgan { width: 2 } } })"},
        Algorithm{.name = "DcganWithSyncBatchNorm", .text = R"(
          data { image_size: 32 }
          generator {
            network { dcgan { width: 2 noise_dim: 5 } }
            sync { batch_norm: true }
          }
          discriminator {
            network { dcgan { width: 2 } }
            sync { batch_norm: true }
          })"},
        // Slices are of each batch; slices of a step would span two batches.
        Algorithm{.name = "EverySecondBatchWithSyncBatchNorm", .text = R"(
          data { image_size: 32 }
          generator {
            network { dcgan { width: 2 noise_dim: 5 } }
            sync { batch_norm: true interval: 2 }
          }
          discriminator {
            network { dcgan { width: 2 } }
            sync { batch_norm: true interval: 2 }
          })"},
        Algorithm{.name = "FusedEveryThirdBatchWithSyncBatchNorm",
                  .text = R"(
          data { image_size: 32 }
          schedule { feedback: FUSED }
          generator {
            network { dcgan { width: 2 noise_dim: 5 } }
            sync { batch_norm: true interval: 3 }
          }
          discriminator {
            network { dcgan { width: 2 } }
            sync { batch_norm: true interval: 3 }
          })",
                  .rounds = 8},
        // The generator makes steps of two batches in slices of each batch.
        Algorithm{.name = "FreshEverySecondBatch",
                  .text = R"(
          data { image_size: 32 }
          schedule { image_source: FRESH discriminator_steps_per_round: 2 }
          generator {
            network { dcgan { width: 2 noise_dim: 5 } }
            sync { batch_norm: true }
          }
          discriminator {
            network { dcgan { width: 2 } }
            sync { batch_norm: true interval: 2 }
          })",
                  .rounds = 8},
        // Augmentations and penalties belong to images; micro-batches span two
        // batches.
        Algorithm{.name = "EverySecondBatchOfAugmentedImages",
                  .text = R"(
          data { image_size: 8 }
          penalties { dragan: 1 lecam: 0.5 lecam_start_step: 2 }
          augmentation { color: true translation: 0.25 }
          generator {
            network { mlp { hidden: 8 noise_dim: 5 } }
            sync { interval: 2 }
          }
          discriminator {
            network { mlp { hidden: 8 } }
            micro_batch: 2
            sync { interval: 2 }
          })",
                  .rounds = 8},
        // 20 critic steps, five per round; layer norm in the critic.
        Algorithm{.name = "WganGp",
                  .text = R"(
          loss: WASSERSTEIN
          data { image_size: 64 }
          schedule { image_source: FRESH discriminator_steps_per_round: 5 }
          penalties { gradient_penalty: 10 }
          generator {
            network { dcgan5 { width: 1 noise_dim: 5 } }
            sync { batch_norm: true }
          }
          discriminator { network { dcgan5 { width: 1 } } })",
                  .rounds = 4},
        Algorithm{.name = "LazyR1AndR2", .text = R"(
          data { image_size: 8 }
          penalties { r1: 0.5 r2: 0.25 gradient_every_steps: 3 }
          generator { network { mlp { hidden: 8 noise_dim: 5 } } }
          discriminator { network { mlp { hidden: 8 } } })"},
        // A mask's row belongs to the image, not to its place in a pass.
        Algorithm{.name = "Dropout",
                  .text = R"(
          data { image_size: 64 }
          generator {
            network { keras_dcgan { width: 1 noise_dim: 5 } }
            sync { batch_norm: true }
          }
          discriminator {
            network { keras_dcgan { width: 2 dropout: 0.2 } }
            sync { batch_norm: true }
          })",
                  .rounds = 4},
        // Noise and a second style belong to the image as well, and the means
        // of styles and path lengths cover all images. Groups of images would
        // differ.
        Algorithm{.name = "NoiseInputsAndMixedStyles",
                  .text = R"(
          data { image_size: 16 }
          schedule { image_source: FRESH }
          penalties {
            r1: 1 gradient_every_steps: 2
            path_length: 2 path_length_every_steps: 2
          }
          generator {
            network {
              stylegan2 {
                channel_base: 64 max_channels: 8 noise_dim: 5 style_dim: 6
                mapping_layers: 2 mixing_probability: 0.7
              }
            }
            micro_batch: 4
          }
          discriminator {
            network {
              stylegan2 {
                channel_base: 64 max_channels: 8 deviation_group: 1
              }
            }
          })",
                  .rounds = 4},
        // A step's second updates use means over all images of all ranks.
        Algorithm{.name = "SecondUpdates",
                  .text = R"(
          data { image_size: 16 }
          penalties {
            r1: 1 gradient_every_steps: 2 lazy_update: SEPARATE
            path_length: 2 path_length_every_steps: 2
          }
          generator {
            network {
              stylegan2 {
                channel_base: 64 max_channels: 8 noise_dim: 5 style_dim: 6
                mapping_layers: 2
              }
            }
            micro_batch: 2
          }
          discriminator {
            network {
              stylegan2 {
                channel_base: 64 max_channels: 8 deviation_group: 1
              }
            }
            micro_batch: 3
          })",
                  .rounds = 4},
        Algorithm{.name = "LecamMovesFirst", .text = R"(
          data { image_size: 8 }
          penalties {
            lecam: 0.5 lecam_decay: 0.9 lecam_start_step: 4
            lecam_moves_first: true
          }
          generator { network { mlp { hidden: 8 noise_dim: 5 } } }
          discriminator { network { mlp { hidden: 8 } } })"},
        Algorithm{.name = "DropoutInMicroBatchesAndPenalties",
                  .text = R"(
          data { image_size: 64 }
          schedule { image_source: FRESH discriminator_steps_per_round: 2 }
          penalties { gradient_penalty: 1 consistency_real: 1 }
          generator { network { mlp { hidden: 8 noise_dim: 5 } } }
          discriminator {
            network { keras_dcgan { variant: WGAN_GP width: 2 dropout: 0.2 } }
            micro_batch: 3
          })",
                  .rounds = 4},
        // Both penalties use all images of a batch, and DRAGAN uses augmented
        // images.
        Algorithm{.name = "DraganOfAugmentedImages", .text = R"(
          data { image_size: 8 }
          penalties { dragan: 1 }
          augmentation { color: true translation: 0.25 }
          generator { network { mlp { hidden: 8 noise_dim: 5 } } }
          discriminator {
            network { mlp { hidden: 8 } }
            micro_batch: 3
          })"},
        // The probability p follows the signs of all ranks' logits.
        Algorithm{.name = "Ada", .text = R"(
          data { image_size: 8 }
          augmentation {
            ada { target: 0.1 p: 0.5 interval: 2 images_to_full: 150 }
          }
          generator { network { mlp { hidden: 8 noise_dim: 5 } } }
          discriminator {
            network { mlp { hidden: 8 } }
            micro_batch: 3
          })"},
        // Both penalties use all images of a batch.
        Algorithm{.name = "DraganAndLecam", .text = R"(
          data { image_size: 8 }
          penalties {
            dragan: 1 lecam: 0.5 lecam_decay: 0.9 lecam_start_step: 4
          }
          generator { network { mlp { hidden: 8 noise_dim: 5 } } }
          discriminator { network { mlp { hidden: 8 } } })"}),
    [](const auto& info) { return info.param.name; });

// Tests a generator with batch norm in all combinations with the other fleet.
class SyncedGeneratorTest : public ::testing::TestWithParam<Cell> {};

TEST_P(SyncedGeneratorTest, AFleetEqualsOneWorkerPerRole) {
  const auto& [generators, discriminators, lag, steps, fresh, feedback] =
      GetParam();
  const gandem::testing::TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("mlp", folder.path()));
  ScheduleConfig& schedule = *config.mutable_schedule();
  schedule.set_lag(lag);
  schedule.set_discriminator_steps_per_round(steps);
  schedule.set_image_source(fresh ? ScheduleConfig::FRESH
                                  : ScheduleConfig::REUSED);
  schedule.set_feedback(feedback);
  RoleConfig& generator = *config.mutable_generator();
  generator.set_batch_size(fresh ? 5 : 7 * steps);
  generator.mutable_network()->mutable_mlp()->add_hidden(6);
  generator.mutable_network()->mutable_mlp()->set_batch_norm(true);
  generator.mutable_optimizer()->mutable_adam()->set_eps(1e-5);
  generator.mutable_sync()->set_batch_norm(true);
  const SavedStates one = Train(config);
  SetWorkers(generators, discriminators, config);
  ASSERT_OK(ValidateRunConfig(config));
  const SavedStates fleet = Train(config);
  ExpectClose(fleet, one, 1e-8);
  ExpectRanksAgree(fleet, config);
  generator.mutable_sync()->set_batch_norm(false);
  EXPECT_GT(Distance(Final(Train(config), "generator", 0),
                     Final(one, "generator", 0)),
            1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Cells, SyncedGeneratorTest,
    ::testing::Values(Cell{2, 3, 0, 1, false, ScheduleConfig::SNAPSHOT},
                      Cell{3, 1, 1, 2, true, ScheduleConfig::SNAPSHOT},
                      Cell{2, 2, 2, 1, false, ScheduleConfig::IMAGE_GRADIENT},
                      Cell{3, 2, 1, 2, true, ScheduleConfig::IMAGE_GRADIENT}),
    CellName);

}  // namespace
}  // namespace gandem
