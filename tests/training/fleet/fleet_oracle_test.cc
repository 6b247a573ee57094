// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_STATE against an independent PyTorch script of local SGD and local
// Adam (tests/oracles/training_goldens.py): a whole GAN on three ranks of either
// role with slices of different sizes, averaged at every second step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "discriminator_worker/discriminator_objective.h"
#include "exchange/schedule.h"
#include "models/registry/registry.h"
#include "tests/models/golden.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/status_matchers.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/objective/critic.h"
#include "training/optimizers/make_optimizer.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using gandem::testing::Golden;
using gandem::testing::MakeInProcessFleet;
using gandem::testing::OnEveryRank;
using gandem::testing::RelativeError;
using gandem::testing::IsOk;

constexpr int kRanks = 3;
constexpr int64_t kFleetOracleBatch = 7;
constexpr int64_t kFleetOracleRounds = 7;
constexpr DataShape kData = {.image = {.channels = 1, .height = 8, .width = 8}};

struct FleetOracleCase {
  std::string name;
  std::string optimizer;  // text proto
};

// A network of one rank with what updates it.
template <typename FleetOracleNetwork>
struct Local {
  Local(const Golden& golden, const std::string& role,
        const FleetOracleCase& test, std::shared_ptr<FleetOracleNetwork> made,
        IndexRange slice, Collective* collective)
      : network(std::move(made)) {
    network->to(at::kDouble);
    golden.LoadNetwork(absl::StrCat("initial.", role, "."), *network);
    OptimizerConfig config;
    GANDEM_CHECK_OK(ParseTextProto(test.optimizer, "optimizer", config));
    optimizer = *MakeOptimizer(config, ParametersOf(*network), {});
    synchronizer = std::make_unique<GradientSynchronizer>(
        GradientSynchronizer::Options{
            .mode = GradientSynchronizer::Mode::kAverageState,
            .interval = 2,
            .bucket_bytes = 500,
            .divergence_check_interval = 2,
            .share = static_cast<double>(slice.count) / kFleetOracleBatch},
        GradientSynchronizer::State{.parameters = ParametersOf(*network),
                                    .buffers = BuffersOf(*network),
                                    .optimizer = optimizer->State()},
        collective);
  }

  // Of the gradients that are there.
  absl::Status Update(int64_t round) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    GANDEM_RETURN_IF_ERROR(synchronizer->Reduce(deadline));
    GANDEM_RETURN_IF_ERROR(optimizer->Step());
    GANDEM_RETURN_IF_ERROR(synchronizer->AfterUpdate(round + 1, deadline));
    optimizer->ZeroGradients();
    return absl::OkStatus();
  }

  std::shared_ptr<FleetOracleNetwork> network;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<GradientSynchronizer> synchronizer;
};

NetworkConfig FleetOracleNetwork(const std::string& text) {
  NetworkConfig config;
  GANDEM_CHECK_OK(ParseTextProto(text, "network", config));
  return config;
}

absl::Status TrainRank(const Golden& golden, const FleetOracleCase& test,
                       Collective& generators, Collective& discriminators) {
  const int rank = generators.rank();
  const IndexRange slice = RankSlice(kFleetOracleBatch, rank, kRanks);
  Local<Generator> generator(
      golden, "generator", test,
      *MakeGenerator(FleetOracleNetwork("mlp { hidden: [8, 6] noise_dim: 6 }"),
                     kData),
      slice, &generators);
  Local<Discriminator> discriminator(
      golden, "discriminator", test,
      *MakeDiscriminator(FleetOracleNetwork("mlp { hidden: [7, 5] }"), kData),
      slice, &discriminators);
  DiscriminatorObjective objective({}, discriminator.network,
                                   kFleetOracleBatch);
  for (int64_t round = 0; round < kFleetOracleRounds; ++round) {
    const auto own = [&](const char* name) {
      return golden.Get(name)[round]
          .narrow(0, slice.first, slice.count)
          .to(at::kDouble);
    };
    const at::Tensor images_NCHW =
        generator.network->forward(own("noise"), {}, ForwardMode::kTrain);
    const at::Tensor real_NCHW = own("real");
    objective.BeginStep(round, real_NCHW);
    objective.Real(real_NCHW, {}, slice.first).loss.backward();
    objective.Generated(images_NCHW.detach(), {}, slice.first).loss.backward();
    objective.EndStep();
    GANDEM_RETURN_IF_ERROR(discriminator.Update(round));

    const Judgment judgment =
        JudgeImages(*discriminator.network,
                    {.images_NCHW = images_NCHW,
                     .round = round,
                     .first_index = slice.first},
                    {}, kFleetOracleBatch, {.dtype = at::kDouble});
    images_NCHW.backward(judgment.gradient_NCHW);
    GANDEM_RETURN_IF_ERROR(generator.Update(round));
  }
  const auto expect_equal = [&](const std::string& role,
                                const torch::nn::Module& network) {
    for (const auto& [name, tensor] : StateOf(network)) {
      const std::string key =
          absl::StrCat(test.name, ".", role, ".", rank, ".", name);
      EXPECT_LE(RelativeError(tensor, golden.Get(key)), 1e-8) << key;
    }
  };
  expect_equal("generator", *generator.network);
  expect_equal("discriminator", *discriminator.network);
  return absl::OkStatus();
}

class FleetOracleTest : public ::testing::TestWithParam<FleetOracleCase> {};

TEST_P(FleetOracleTest, LocalStepsAndTheirMeans) {
  const Golden golden("training/local.safetensors");
  const auto generators =
      MakeInProcessFleet(kRanks, {.max_delay = absl::Microseconds(200)});
  const auto discriminators = MakeInProcessFleet(
      kRanks, {.max_delay = absl::Microseconds(200), .seed = 2});
  for (const absl::Status& result :
       OnEveryRank(generators, [&](Collective& own) {
         return TrainRank(golden, GetParam(), own, *discriminators[own.rank()]);
       })) {
    EXPECT_THAT(result, IsOk());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, FleetOracleTest,
    ::testing::Values(
        FleetOracleCase{"sgd", "sgd { learning_rate: 0.05 momentum: 0.5 }"},
        FleetOracleCase{
            "adam",
            "adam { learning_rate: 2e-3 beta1: 0.5 beta2: 0.9 eps: 1e-6 }"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gandem
