// SPDX-License-Identifier: Apache-2.0
//
// Compares batch norm over a fleet with one layer that sees all images, and its
// second derivatives with finite differences. Also tests a fleet that fails in
// the middle of a pass.
#include "training/fleet/sync_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "exchange/schedule.h"
#include "models/layers/batch_norm.h"
#include "models/layers/recompute.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/recording_collective.h"
#include "tests/testing/status_matchers.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/state/catch_torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using gandem::testing::IsOk;
using gandem::testing::MakeInProcessFleet;
using gandem::testing::OnEveryRank;
using gandem::testing::Ramp;
using gandem::testing::RecordingCollective;
using gandem::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using SyncBatchNormFleet = std::vector<std::unique_ptr<Collective>>;

constexpr int64_t kChannels = 3;

std::shared_ptr<BatchNorm> NewLayer() {
  auto layer = std::make_shared<BatchNorm>(BatchNorm::Options{
      .num_features = kChannels, .eps = 1e-3, .momentum = 0.2});
  layer->to(torch::kFloat64);
  const torch::NoGradGuard no_grad;
  layer->named_parameters()["weight"].copy_(Ramp({kChannels}) + 1);
  layer->named_parameters()["bias"].copy_(Ramp({kChannels}));
  return layer;
}

// Returns images far from 0, where differences of sums lose precision.
at::Tensor SyncBatchNormImages(int64_t count, bool flat) {
  return flat ? Ramp({count, kChannels}) * 2 + 1e4
              : Ramp({count, kChannels, 2, 1}) * 2 + 1e4;
}

at::Tensor SliceOf(const at::Tensor& all, const Collective& collective) {
  const IndexRange slice =
      RankSlice(all.size(0), collective.rank(), collective.size());
  return all.narrow(0, slice.first, slice.count);
}

double Difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

// Returns a nonlinear loss of the layer's output.
at::Tensor SyncBatchNormLoss(BatchNorm& layer, const at::Tensor& images,
                             const at::Tensor& weights, ForwardMode mode) {
  return (layer.forward(images, mode).pow(3) * weights).sum();
}

// ranks, images, flat
using SyncBatchNormCell = std::tuple<int, int64_t, bool>;
class SyncBatchNormTest : public ::testing::TestWithParam<SyncBatchNormCell> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  int64_t count() const { return std::get<1>(GetParam()); }
  bool flat() const { return std::get<2>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Slices, SyncBatchNormTest,
                         ::testing::Values(SyncBatchNormCell{2, 5, false},
                                           SyncBatchNormCell{3, 7, false},
                                           SyncBatchNormCell{3, 4, true},
                                           SyncBatchNormCell{4, 10, false}),
                         [](const auto& info) {
                           return absl::StrCat(
                               std::get<1>(info.param), "images_",
                               std::get<0>(info.param), "ranks",
                               std::get<2>(info.param) ? "_flat" : "");
                         });

TEST_P(SyncBatchNormTest, AFleetEqualsOneLayerThatSeesAllImages) {
  const SyncBatchNormFleet fleet =
      MakeInProcessFleet(ranks(), {.max_delay = absl::Microseconds(200)});
  const auto one = NewLayer();
  std::vector<std::shared_ptr<BatchNorm>> layers;
  for (const auto& collective : fleet) {
    layers.push_back(NewLayer());
    layers.back()->SyncOver(GatherOver(collective.get()));
  }
  const at::Tensor weights =
      Ramp(SyncBatchNormImages(count(), flat()).sizes(), 0.3);
  for (const ForwardMode mode :
       {ForwardMode::kTrain, ForwardMode::kTrain, ForwardMode::kFrozen}) {
    at::Tensor all = SyncBatchNormImages(count(), flat()).requires_grad_(true);
    one->zero_grad();
    SyncBatchNormLoss(*one, all, weights, mode).backward();
    std::vector<at::Tensor> slices(fleet.size());
    for (const absl::Status& result :
         OnEveryRank(fleet, [&](Collective& collective) {
           BatchNorm& layer = *layers[collective.rank()];
           layer.zero_grad();
           at::Tensor& own = slices[collective.rank()];
           own = SliceOf(all.detach(), collective).clone().requires_grad_(true);
           SyncBatchNormLoss(layer, own, SliceOf(weights, collective), mode)
               .backward();
           return absl::OkStatus();
         })) {
      EXPECT_THAT(result, IsOk());
    }
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& slice : slices) gradients.push_back(slice.grad());
    // A double near 1e4 has 12 digits after the decimal point.
    EXPECT_LT(Difference(at::cat(gradients), all.grad()), 1e-9);
    for (const char* name : {"weight", "bias"}) {
      at::Tensor sum = torch::zeros({kChannels}, torch::kFloat64);
      for (const auto& layer : layers) {
        sum += layer->named_parameters()[name].grad();
      }
      EXPECT_LT(Difference(sum, one->named_parameters()[name].grad()), 1e-9)
          << name;
    }
  }
  for (const auto& buffer : one->named_buffers()) {
    for (const auto& layer : layers) {
      const at::Tensor own = layer->named_buffers()[buffer.key()];
      EXPECT_LT(Difference(own, buffer.value()), 1e-9) << buffer.key();
      EXPECT_TRUE(at::equal(own, layers[0]->named_buffers()[buffer.key()]));
    }
  }
}

// Returns this rank's part of <d(loss of all ranks)/d(images), direction>.
at::Tensor Slope(BatchNorm& layer, const at::Tensor& images,
                 const at::Tensor& weights, const at::Tensor& direction) {
  const at::Tensor gradient =
      torch::autograd::grad(
          {SyncBatchNormLoss(layer, images, weights, ForwardMode::kFrozen)},
          {images}, {},
          /*retain_graph=*/true, /*create_graph=*/true)
          .front();
  return (gradient * direction).sum();
}

TEST_P(SyncBatchNormTest, SecondDerivativesEqualFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const SyncBatchNormFleet fleet = MakeInProcessFleet(ranks(), {});
  const at::Tensor all = Ramp(SyncBatchNormImages(count(), flat()).sizes());
  const at::Tensor weights = Ramp(all.sizes(), 0.3);
  const at::Tensor direction = Ramp(all.sizes(), 0.5);
  at::Tensor weight_gradient = torch::zeros({kChannels}, torch::kFloat64);
  std::vector<at::Tensor> gradients(fleet.size());
  // By rank: the slope above and below, by the changed value.
  std::vector<at::Tensor> moved(fleet.size());
  std::vector<at::Tensor> of_weight(fleet.size());
  const int64_t values = all.numel();
  for (const absl::Status& result :
       OnEveryRank(fleet, [&](Collective& collective) {
         const int rank = collective.rank();
         const auto layer = NewLayer();
         layer->SyncOver(GatherOver(&collective));
         const auto part = [&](const at::Tensor& tensor) {
           return SliceOf(tensor, collective).clone();
         };
         at::Tensor own = part(all).requires_grad_(true);
         const at::Tensor weight = layer->named_parameters()["weight"];
         const auto found = torch::autograd::grad(
             {Slope(*layer, own, part(weights), part(direction))},
             {own, weight});
         gradients[rank] = found[0];
         of_weight[rank] = found[1];
         moved[rank] = torch::zeros({values, 2}, torch::kFloat64);
         for (int64_t i = 0; i < values; ++i) {
           for (const int below : {0, 1}) {
             at::Tensor shifted = all.clone();
             shifted.view({-1})[i] += below == 0 ? kStep : -kStep;
             moved[rank][i][below] =
                 Slope(*layer, part(shifted).requires_grad_(true),
                       part(weights), part(direction))
                     .detach();
           }
         }
         return absl::OkStatus();
       })) {
    ASSERT_THAT(result, IsOk());
  }
  at::Tensor sum = torch::zeros_like(moved[0]);
  for (const at::Tensor& part : moved) sum += part;
  const at::Tensor numeric =
      ((sum.select(1, 0) - sum.select(1, 1)) / (2 * kStep)).view(all.sizes());
  const at::Tensor found = at::cat(gradients);
  EXPECT_GT(numeric.abs().max().item<double>(), 1e-2);
  EXPECT_LT(Difference(found, numeric),
            1e-6 * numeric.abs().max().item<double>());

  // The result also equals PyTorch's second derivative of one layer.
  const auto one = NewLayer();
  at::Tensor leaf = all.clone().requires_grad_(true);
  const auto whole =
      torch::autograd::grad({Slope(*one, leaf, weights, direction)},
                            {leaf, one->named_parameters()["weight"]});
  EXPECT_LT(Difference(found, whole[0]), 1e-9);
  for (const at::Tensor& part : of_weight) weight_gradient += part;
  EXPECT_LT(Difference(weight_gradient, whole[1]), 1e-9);
}

// Buckets of gradients are sent in the middle of the backward pass, between the
// sums of batch norm: all ranks submit them in the same order.
TEST(SyncBatchNormOrderTest, BucketsAndStatisticsHaveOneOrder) {
  NetworkConfig config;
  config.mutable_dcgan()->set_width(2);
  const SyncBatchNormFleet fleet =
      MakeInProcessFleet(3, {.max_delay = absl::Microseconds(300)});
  std::vector<std::vector<std::string>> operations(fleet.size());
  std::vector<size_t> sums;
  for (const absl::Status& result :
       OnEveryRank(fleet, [&](Collective& inner) -> absl::Status {
         RecordingCollective collective(&inner);
         auto made = MakeDiscriminator(
             config, {.image = {.channels = 1, .height = 32, .width = 32}});
         GANDEM_RETURN_IF_ERROR(made.status());
         Discriminator& network = **made;
         SyncBatchNorm(network, GatherOver(&collective));
         GradientSynchronizer synchronizer({.bucket_bytes = 100},
                                           {.parameters = ParametersOf(network),
                                            .buffers = BuffersOf(network)},
                                           &collective);
         for (int step = 0; step < 2; ++step) {
           const int64_t images = RankSlice(7, inner.rank(), 3).count;
           at::Tensor real =
               Ramp({images, 1, 32, 32}, 0.1 + step).to(at::kFloat);
           real.requires_grad_(true);
           const at::Tensor logits =
               network.forward(real, {}, ForwardMode::kTrain).logits.One();
           const at::Tensor slope =
               torch::autograd::grad({logits.sum()}, {real}, {}, true, true)
                   .front();
           synchronizer.ExpectLastBackward();
           (logits.sum() + slope.square().sum()).backward();
           GANDEM_RETURN_IF_ERROR(
               synchronizer.Reduce(absl::Now() + absl::Seconds(60)));
           if (step == 0 && inner.rank() == 0) sums = collective.sums();
         }
         operations[inner.rank()] = collective.operations();
         return absl::OkStatus();
       })) {
    ASSERT_THAT(result, IsOk());
  }
  EXPECT_EQ(operations[1], operations[0]);
  EXPECT_EQ(operations[2], operations[0]);
  // The gradient of the last layer's weights, 8 * 4 * 4 float32 values, is sent
  // before the last sum of statistics: 3 ranks' count, means and squares of 4
  // channels.
  const auto first_bucket = std::find(sums.begin(), sums.end(), 8 * 16 * 4);
  ASSERT_NE(first_bucket, sums.end());
  EXPECT_THAT(std::vector<size_t>(first_bucket, sums.end()),
              Contains(3 * (1 + 2 * 4) * 8));
}

// Rank 0 is in a pass that rank 1 never joins. Torch must return the reason
// given to Close unchanged, from all kinds of passes.
TEST(SyncBatchNormFailureTest, EveryPassReturnsTheReasonGivenToClose) {
  enum Pass { kForward, kBackward, kRecomputed };
  for (const Pass pass : {kForward, kBackward, kRecomputed}) {
    const SyncBatchNormFleet fleet = MakeInProcessFleet(2, {});
    const auto forward = [&](int rank) {
      const auto layer = NewLayer();
      layer->SyncOver(GatherOver(fleet[rank].get()));
      const at::Tensor images = Ramp({2, kChannels}).requires_grad_(true);
      if (pass != kRecomputed) {
        return layer->forward(images, ForwardMode::kTrain);
      }
      return Recompute(
          layer, {images}, ForwardMode::kTrain,
          [layer](const std::vector<at::Tensor>& inputs, ForwardMode mode) {
            return layer->forward(inputs[0], mode);
          });
    };
    absl::Status result;
    {
      Thread rank_0("rank", [&] {
        result = CatchTorch([&] {
          forward(0).pow(3).sum().backward();
          return absl::OkStatus();
        });
      });
      if (pass != kForward) (void)forward(1);
      fleet[1]->Close(absl::UnavailableError("the worker went away"));
    }
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("rank 1: the worker went away")))
        << pass;
  }
}

}  // namespace
}  // namespace gandem
