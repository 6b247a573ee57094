// SPDX-License-Identifier: Apache-2.0
//
// Features known to break when GANs are trained with data-parallel wrappers
// made for one network, one forward and one backward pass. Each test compares
// several ranks with one rank, or the ranks' bits with each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "exchange/schedule.h"
#include "models/autocast.h"
#include "models/layers/batch_norm.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/recording_collective.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/fleet_runs.h"
#include "tests/training/runs/pair.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/fleet/sync_batch_norm.h"
#include "training/objective/critic.h"
#include "training/objective/penalties.h"
#include "training/optimizers/make_optimizer.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using gandem::testing::Distance;
using gandem::testing::ExpectClose;
using gandem::testing::ExpectRanksAgree;
using gandem::testing::Final;
using gandem::testing::Float64;
using gandem::testing::IsOk;
using gandem::testing::MakeInProcessFleet;
using gandem::testing::OnEveryRank;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::SetWorkers;
using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using gandem::testing::Train;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Fleet = std::vector<std::unique_ptr<Collective>>;

constexpr int64_t kFleetTortureBatch = 5;
constexpr int kSteps = 3;

at::Tensor Images(double frequency) {
  return (torch::arange(kFleetTortureBatch * 32 * 32, at::kDouble) * frequency)
      .sin()
      .view({kFleetTortureBatch, 1, 32, 32});
}

NetworkConfig FleetTortureNetwork(const std::string& text) {
  NetworkConfig config;
  GANDEM_CHECK_OK(ParseTextProto(text, "network", config));
  return config;
}

// A rank's discriminator in training; without a collective, the only rank's.
struct Rank {
  Rank(const NetworkConfig& config, Collective* with) : collective(with) {
    auto made = MakeDiscriminator(
        config, {.image = {.channels = 1, .height = 32, .width = 32}});
    GANDEM_CHECK_OK(made.status());
    network = *std::move(made);
    InitializeParameters(*network, config, /*seed=*/3);
    network->to(at::kDouble);
    OptimizerConfig sgd;
    sgd.mutable_sgd()->set_learning_rate(0.1);
    optimizer = MakeOptimizer(sgd, ParametersOf(*network), {});
    if (collective == nullptr) return;
    SyncBatchNorm(*network, GatherOver(collective));
    synchronizer = std::make_unique<GradientSynchronizer>(
        GradientSynchronizer::Options{.bucket_bytes = 1000,
                                      .divergence_check_interval = 1},
        GradientSynchronizer::State{.parameters = ParametersOf(*network),
                                    .buffers = BuffersOf(*network)},
        collective);
  }

  at::Tensor Own(const at::Tensor& images) const {
    if (collective == nullptr) return images;
    const IndexRange slice =
        RankSlice(images.size(0), collective->rank(), collective->size());
    return images.narrow(0, slice.first, slice.count);
  }
  at::Tensor Logits(const at::Tensor& images) {
    return network->forward(Own(images), {}, ForwardMode::kTrain).logits.One();
  }
  // Updates by the gradient of the sum of all ranks' losses.
  absl::Status Update(const at::Tensor& loss, int64_t step) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    optimizer->ZeroGradients();
    if (synchronizer) synchronizer->ExpectLastBackward();
    loss.backward();
    if (synchronizer) {
      GANDEM_RETURN_IF_ERROR(synchronizer->Reduce(deadline));
    }
    GANDEM_RETURN_IF_ERROR(optimizer->Step());
    return synchronizer ? synchronizer->AfterUpdate(step, deadline)
                        : absl::OkStatus();
  }

  Collective* const collective;
  std::shared_ptr<Discriminator> network;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<GradientSynchronizer> synchronizer;
};

// Runs three steps of the same loss on 2 and 3 ranks and on one.
void ExpectRanksEqualOne(
    const NetworkConfig& config,
    const std::function<at::Tensor(Rank& rank, int step)>& loss) {
  const auto train = [&](Rank& rank) -> absl::Status {
    for (int step = 0; step < kSteps; ++step) {
      GANDEM_RETURN_IF_ERROR(rank.Update(loss(rank, step), step + 1));
    }
    return absl::OkStatus();
  };
  Rank one(config, nullptr);
  ASSERT_OK(train(one));
  const TensorsByName expected = StateOf(*one.network);
  for (const int size : {2, 3}) {
    const Fleet fleet =
        MakeInProcessFleet(size, {.max_delay = absl::Microseconds(200)});
    std::vector<std::unique_ptr<Rank>> ranks(fleet.size());
    for (const absl::Status& result :
         OnEveryRank(fleet, [&](Collective& collective) {
           auto& rank = ranks[collective.rank()];
           rank = std::make_unique<Rank>(config, &collective);
           return train(*rank);
         })) {
      ASSERT_THAT(result, IsOk());
    }
    for (const auto& rank : ranks) {
      const TensorsByName state = StateOf(*rank->network);
      for (size_t i = 0; i < state.size(); ++i) {
        const auto& [name, tensor] = state[i];
        EXPECT_TRUE(
            at::equal(tensor, StateOf(*ranks.front()->network)[i].second))
            << name;
        const at::Tensor other = expected[i].second.to(at::kDouble);
        EXPECT_LE((tensor.to(at::kDouble) - other).norm().item<double>(),
                  1e-10 * other.norm().item<double>())
            << name << " of " << size << " ranks";
      }
    }
  }
}

// "Modified by an inplace operation": the second pass records its statistics
// while the first pass's graph still needs its own.
TEST(FleetTortureTest, TwoForwardsWithBatchNormMayPrecedeOneBackward) {
  ExpectRanksEqualOne(
      FleetTortureNetwork("dcgan { width: 2 }"), [](Rank& rank, int step) {
        const at::Tensor real = rank.Logits(Images(0.1 + step));
        const at::Tensor generated = rank.Logits(Images(0.7 + step));
        // One loss has both logits, so no backward pass can run before both
        // forward passes.
        return at::softplus(generated - real).sum() / kFleetTortureBatch;
      });
}

// Every rank iterates the power iteration's vectors twice per step, and they
// are not averaged.
TEST(FleetTortureTest, TwoForwardsWithSpectralNormMayPrecedeOneBackward) {
  ExpectRanksEqualOne(
      FleetTortureNetwork("sndcgan { width: 2 }"), [](Rank& rank, int step) {
        const at::Tensor real = rank.Logits(Images(0.1 + step));
        const at::Tensor generated = rank.Logits(Images(0.7 + step));
        return at::softplus(generated - real).sum() / kFleetTortureBatch;
      });
}

// Double backward through statistics of all ranks, with gradient buckets in
// flight. (Configs refuse this: the penalty is not that of single images.)
TEST(FleetTortureTest, APenaltyWithSyncBatchNormEqualsOneRank) {
  ExpectRanksEqualOne(FleetTortureNetwork("dcgan { width: 2 }"), [](Rank& rank,
                                                                    int step) {
    const at::Tensor images =
        rank.Own(Images(0.1 + step)).detach().clone().requires_grad_(true);
    const at::Tensor logits =
        rank.network->forward(images, {}, ForwardMode::kTrain).logits.One();
    const at::Tensor slope = ImageGradient(logits, images);
    return (at::softplus(-logits).sum() + 10 * UnitNormPenalties(slope).sum() +
            SquaredNormPenalties(slope).sum()) /
           kFleetTortureBatch;
  });
}

// Expects that no number was rounded to 16 bits.
void ExpectFloat32(const std::vector<NamedTensor>& tensors) {
  int64_t count = 0;
  int64_t finer_than_bfloat16 = 0;
  for (const NamedTensor& tensor : tensors) {
    EXPECT_NE(tensor.dtype, DType::kBF16) << tensor.name;
    if (tensor.dtype != DType::kF32) continue;
    for (size_t i = 0; i < tensor.bytes.size(); i += sizeof(uint32_t)) {
      uint32_t bits = 0;
      std::memcpy(&bits, tensor.bytes.data() + i, sizeof(bits));
      ++count;
      if ((bits & 0xffff) != 0) ++finer_than_bfloat16;
    }
  }
  EXPECT_GT(finer_than_bfloat16, count / 2);
}

// A penalty's passes are in float32 on a CPU (models/autocast.h), the others in
// 16 bits. A rank without the penalty would be a third of its effect away; the
// rounding depends on the CPU.
TEST(FleetTortureTest, APenaltyWithBfloat16EqualsOneRank) {
  const TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("sndcgan", folder.path());
  config.set_loss(WASSERSTEIN);
  config.set_rounds(3);
  config.mutable_checkpoint()->set_every_rounds(0);
  config.mutable_penalties()->set_gradient_penalty(10);
  RoleConfig& discriminator = *config.mutable_discriminator();
  discriminator.set_precision(RoleConfig::BFLOAT16);
  discriminator.mutable_network()->mutable_sndcgan()->set_width(2);
  discriminator.mutable_optimizer()->mutable_sgd()->set_learning_rate(0.01);
  const SavedStates one = Train(config);
  SetWorkers(1, 3, config);
  const SavedStates fleet = Train(config);
  ExpectRanksAgree(fleet, config);
  ExpectFloat32(Final(fleet, "discriminator", 0));
  config.mutable_penalties()->Clear();
  const double effect = Distance(Final(Train(config), "discriminator", 0),
                                 Final(one, "discriminator", 0));
  EXPECT_GT(effect, 1e-3);
  EXPECT_LT(Distance(Final(fleet, "discriminator", 0),
                     Final(one, "discriminator", 0)),
            0.2 * effect);
}

TEST(FleetTortureTest, APenaltyInBfloat16IsSummedInFloat32) {
  const NetworkConfig config = FleetTortureNetwork("sndcgan { width: 2 }");
  const Fleet fleet = MakeInProcessFleet(2, {});
  for (const absl::Status& result :
       OnEveryRank(fleet, [&](Collective& collective) -> absl::Status {
         gandem::testing::RecordingCollective recording(&collective);
         GANDEM_ASSIGN_OR_RETURN(
             std::shared_ptr<Discriminator> plain,
             MakeDiscriminator(
                 config,
                 {.image = {.channels = 1, .height = 32, .width = 32}}));
         InitializeParameters(*plain, config, /*seed=*/3);
         const auto network = WithAutocast(plain, at::kBFloat16);
         GradientSynchronizer synchronizer(
             {.bucket_bytes = 1000},
             GradientSynchronizer::State{.parameters = ParametersOf(*network),
                                         .buffers = BuffersOf(*network)},
             &recording);
         const at::Tensor images =
             Images(0.1).to(at::kFloat).requires_grad_(true);
         const at::Tensor logits =
             network->forward(images, {}, ForwardMode::kTrain).logits.One();
         const at::Tensor slope = ImageGradient(logits, images);
         EXPECT_EQ(slope.scalar_type(), at::kFloat);
         synchronizer.ExpectLastBackward();
         (at::softplus(-logits).sum() + UnitNormPenalties(slope).sum())
             .backward();
         GANDEM_RETURN_IF_ERROR(
             synchronizer.Reduce(absl::Now() + absl::Seconds(60)));
         for (const auto& [name, parameter] : ParametersOf(*network)) {
           EXPECT_EQ(parameter.scalar_type(), at::kFloat) << name;
           EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat) << name;
         }
         EXPECT_FALSE(recording.sums().empty());
         const std::string sum =
             absl::StrCat(static_cast<int>(OperationKind::kAllReduce), " ");
         const std::string in_float32 =
             absl::StrCat(sum, static_cast<int>(ElementType::kFloat32), " ");
         for (const std::string& operation : recording.operations()) {
           EXPECT_TRUE(!operation.starts_with(sum) ||
                       operation.starts_with(in_float32))
               << operation;
         }
         return absl::OkStatus();
       })) {
    EXPECT_THAT(result, IsOk());
  }
}

// A head without effect on the loss is reported immediately on all ranks, where
// other trainers wait for its gradient.
TEST(FleetTortureTest, UnusedParametersAreNamed) {
  const TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("mlp_classes", folder.path());
  config.mutable_data()->set_image_size(32);
  config.mutable_generator()->mutable_network()->mutable_sngan()->set_width(1);
  BigganConfig& biggan =
      *config.mutable_discriminator()->mutable_network()->mutable_biggan();
  biggan.set_width(2);
  biggan.set_attention(false);
  biggan.set_head(BigganConfig::CONTRASTIVE);
  SetWorkers(1, 2, config);
  EXPECT_THAT(
      RunPair(config, {.decoupled = true}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("no backward pass of the step has reached"),
                     HasSubstr("embedding"))));
}

// Collectives that identify tensors by name confuse two networks with the same
// architecture whose gradients are sent at the same time.
TEST(FleetTortureTest, TwoFleetsWithTheSameTensorNamesDoNotInterfere) {
  constexpr int kSize = 3;
  const NetworkConfig config = FleetTortureNetwork("dcgan { width: 2 }");
  const Fleet first =
      MakeInProcessFleet(kSize, {.max_delay = absl::Microseconds(300)});
  const Fleet second = MakeInProcessFleet(
      kSize, {.max_delay = absl::Microseconds(300), .seed = 2});
  const auto loss = [](Rank& rank, double frequency) {
    return at::softplus(rank.Logits(Images(frequency))).sum() /
           kFleetTortureBatch;
  };
  Rank one(config, nullptr);
  loss(one, 0.1).backward();
  Rank other(config, nullptr);
  loss(other, 0.7).backward();
  for (const absl::Status& result :
       OnEveryRank(first, [&](Collective& collective) -> absl::Status {
         Rank a(config, &collective);
         Rank b(config, second[collective.rank()].get());
         const at::Tensor loss_a = loss(a, 0.1);
         const at::Tensor loss_b = loss(b, 0.7);
         a.synchronizer->ExpectLastBackward();
         b.synchronizer->ExpectLastBackward();
         // The buckets of both are in flight, and those of b are awaited first.
         loss_a.backward();
         loss_b.backward();
         const absl::Time deadline = absl::Now() + absl::Seconds(60);
         GANDEM_RETURN_IF_ERROR(b.synchronizer->Reduce(deadline));
         GANDEM_RETURN_IF_ERROR(a.synchronizer->Reduce(deadline));
         for (size_t i = 0; i < one.network->parameters().size(); ++i) {
           const auto close = [&](const Rank& rank, const Rank& expected) {
             return at::allclose(rank.network->parameters()[i].grad(),
                                 expected.network->parameters()[i].grad(), 1e-9,
                                 1e-12);
           };
           EXPECT_TRUE(close(a, one)) << i;
           EXPECT_TRUE(close(b, other)) << i;
         }
         return absl::OkStatus();
       })) {
    EXPECT_THAT(result, IsOk());
  }
}

// The generators' step runs through a critic: its parameters get no gradient
// and are not summed, its state does not change, but its batch covers all
// generators.
TEST(FleetTortureTest, AFrozenNetworkInTheOtherRolesStepIsNotSummed) {
  constexpr int kSize = 3;
  const NetworkConfig config = FleetTortureNetwork("dcgan { width: 2 }");
  const Compute compute = {.dtype = at::kDouble};
  const auto judge = [&](Rank& rank) {
    return JudgeImages(*rank.network, {.images_NCHW = rank.Own(Images(0.3))},
                       {}, kFleetTortureBatch, compute);
  };
  Rank one(config, nullptr);
  const Judgment expected = judge(one);
  const Fleet fleet =
      MakeInProcessFleet(kSize, {.max_delay = absl::Microseconds(200)});
  std::vector<Judgment> judgments(kSize);
  for (const absl::Status& result : OnEveryRank(fleet, [&](Collective& inner) {
         gandem::testing::RecordingCollective collective(&inner);
         Rank rank(config, &collective);
         const auto before = PackModule(*rank.network);
         judgments[inner.rank()] = judge(rank);
         const auto after = PackModule(*rank.network);
         EXPECT_TRUE(std::ranges::equal(before.span(), after.span()));
         for (const auto& [name, parameter] : ParametersOf(*rank.network)) {
           EXPECT_FALSE(parameter.grad().defined()) << name;
         }
         // Only two batch norm layers communicate, forward and backward.
         EXPECT_EQ(collective.operations().size(), 4u);
         return absl::OkStatus();
       })) {
    EXPECT_THAT(result, IsOk());
  }
  std::vector<at::Tensor> gradients;
  double loss = 0;
  for (const Judgment& judgment : judgments) {
    gradients.push_back(judgment.gradient_NCHW);
    loss += judgment.loss.Value();
  }
  EXPECT_NEAR(loss, expected.loss.Value(), 1e-12);
  EXPECT_TRUE(
      at::allclose(at::cat(gradients), expected.gradient_NCHW, 1e-9, 1e-12));
}

TEST(FleetTortureTest, RecomputedBlocksWorkWithSyncBatchNorm) {
  const TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("sndcgan", folder.path()));
  config.set_rounds(2);
  RoleConfig& generator = *config.mutable_generator();
  generator.mutable_network()->mutable_sngan()->set_width(1);
  generator.mutable_network()->mutable_sngan()->set_noise_dim(5);
  generator.mutable_optimizer()->mutable_adam()->set_eps(1e-5);
  const SavedStates one = Train(config);
  generator.mutable_sync()->set_batch_norm(true);
  generator.set_recompute_blocks(true);
  SetWorkers(3, 1, config);
  const SavedStates fleet = Train(config);
  ExpectClose(fleet, one, 1e-8);
  ExpectRanksAgree(fleet, config);
}

}  // namespace
}  // namespace gandem
