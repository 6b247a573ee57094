// SPDX-License-Identifier: Apache-2.0
//
// Several workers per role are one network each (design.md sections 7, 10.6):
// their ranks end with the same bits, which differ from those of one worker by
// the order of sums only, and depend on no timing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/pair.h"

namespace gandem {
namespace {

using testing::Differences;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RunPair;
using testing::SavedStates;
using ::testing::SizeIs;
using testing::StatusIs;
using Tensors = std::vector<NamedTensor>;

// In float64, where the order of sums costs 1e-16 a step.
RunConfig Float64(RunConfig config) {
  config.set_rounds(4);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_precision(RoleConfig::FLOAT64);
    role->set_batch_size(7);
  }
  config.mutable_exchange()->set_image_encoding(ExchangeConfig::FLOAT64);
  config.mutable_exchange()->set_feedback_encoding(ExchangeConfig::FLOAT64);
  config.mutable_checkpoint()->set_every_rounds(0);
  return config;
}

void SetWorkers(int generators, int discriminators, RunConfig& config) {
  config.mutable_generator()->set_workers(generators);
  config.mutable_discriminator()->set_workers(discriminators);
}

SavedStates Train(const RunConfig& config, uint64_t delay_seed = 3) {
  auto states = RunPair(config, {.decoupled = true, .delay_seed = delay_seed});
  EXPECT_THAT(states.status(), testing::IsOk());
  return states.ok() ? *std::move(states) : SavedStates();
}

const Tensors& Final(const SavedStates& states, const std::string& role,
                     int rank) {
  static const Tensors kNone;
  if (states.empty()) return kNone;
  const auto& files = states.rbegin()->second;
  const auto found = files.find(absl::StrCat(role, "-", rank, ".safetensors"));
  EXPECT_NE(found, files.end()) << role << rank;
  return found == files.end() ? kNone : found->second;
}

// Relative L2 distance of the worst tensor.
double Distance(const Tensors& a, const Tensors& b) {
  EXPECT_EQ(a.size(), b.size());
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : b) by_name[tensor.name] = &tensor;
  double worst = 0;
  for (const NamedTensor& tensor : a) {
    const NamedTensor* const other = by_name[tensor.name];
    if (other == nullptr || tensor.dtype != DType::kF64) continue;
    double difference = 0;
    double size = 0;
    for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(double)) {
      double x = 0;
      double y = 0;
      std::memcpy(&x, tensor.bytes.data() + at, sizeof(x));
      std::memcpy(&y, other->bytes.data() + at, sizeof(y));
      difference += (x - y) * (x - y);
      size += y * y;
    }
    if (size > 0) worst = std::max(worst, std::sqrt(difference / size));
  }
  return worst;
}

void ExpectRanksAgree(const SavedStates& states, const RunConfig& config) {
  for (int rank = 1; rank < config.generator().workers(); ++rank) {
    EXPECT_THAT(Differences(Final(states, "generator", 0),
                            Final(states, "generator", rank)),
                IsEmpty());
  }
  for (int rank = 1; rank < config.discriminator().workers(); ++rank) {
    EXPECT_THAT(Differences(Final(states, "discriminator", 0),
                            Final(states, "discriminator", rank)),
                IsEmpty());
  }
}

void ExpectClose(const SavedStates& states, const SavedStates& other,
                 double limit) {
  for (const char* role : {"generator", "discriminator"}) {
    EXPECT_LT(Distance(Final(states, role, 0), Final(other, role, 0)), limit)
        << role;
  }
}

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
  testing::TempDir folder_;
};

TEST_P(FleetTest, EqualsOneWorkerPerRole) {
  const auto& [generators, discriminators, lag, steps, fresh, feedback] =
      GetParam();
  RunConfig config = Float64(testing::SmallConfig("mlp", folder_.path()));
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

TEST(FleetsTest, DelaysChangeNoBit) {
  const testing::TempDir folder;
  RunConfig config = testing::SmallConfig("dcgan", folder.path());
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
  const testing::TempDir folder;
  RunConfig config = Float64(testing::SmallConfig("sndcgan", folder.path()));
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
    const testing::TempDir folder;
    RunConfig twice = Float64(testing::SmallConfig("mlp", folder.path()));
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

// With older critics, an average, and moments.
TEST(FleetsTest, SharesOfAllRanksAreTheState) {
  const testing::TempDir folder;
  RunConfig config = testing::SmallConfig("dcgan", folder.path());
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

// Whoever wrote a checkpoint, any fleets go on from it.
TEST(FleetsTest, OtherFleetsGoOnFromACheckpoint) {
  const testing::TempDir folder;
  RunConfig config = Float64(testing::SmallConfig("mlp", folder.path()));
  config.mutable_schedule()->set_lag(2);
  config.mutable_ema()->set_decay(0.5);
  const SavedStates one = Train(config);
  std::string resume_from;
  std::vector<testing::TempDir> checkpoints(3);
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
    testing::WriteStates(files, resume_from);
  }
  SetWorkers(1, 1, config);
  ASSERT_OK_AND_ASSIGN(const SavedStates last,
                       RunPair(config, {.first_round = first_round,
                                        .resume_from = resume_from}));
  ExpectClose(last, one, 1e-8);
}

TEST(FleetsTest, AveragesOfEveryRoundOfSgdEqualSumsOfGradients) {
  const testing::TempDir folder;
  RunConfig sums = Float64(testing::SmallConfig("mlp", folder.path()));
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
  const testing::TempDir folder;
  RunConfig config = Float64(testing::SmallConfig("mlp", folder.path()));
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
  // It is another algorithm than summing the gradients.
  RunConfig sums = config;
  for (RoleConfig* role :
       {sums.mutable_generator(), sums.mutable_discriminator()}) {
    role->mutable_sync()->Clear();
  }
  EXPECT_GT(Distance(Final(*states, "generator", 0),
                     Final(Train(sums), "generator", 0)),
            1e-6);
}

}  // namespace
}  // namespace gandem
