// SPDX-License-Identifier: Apache-2.0
#include "models/layers/batch_norm.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include <map>
#include <memory>
#include <string>

#include "models/torch.h"
#include "tests/models/network_testing.h"

namespace gandem {
namespace {

using gandem::testing::Ramp;

constexpr double kBatchNormEps = 1e-3;
constexpr double kMomentum = 0.2;

std::map<std::string, at::Tensor> Copy(const torch::nn::Module& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& item : module.named_buffers()) {
    tensors[item.key()] = item.value().clone();
  }
  return tensors;
}

// gandem's layer and torch.nn's, with equal weights and one recorded batch.
class BatchNormTest : public ::testing::TestWithParam<int> {
 protected:
  BatchNormTest()
      : ours_({.num_features = 3, .eps = kBatchNormEps, .momentum = kMomentum}),
        theirs_(torch::nn::BatchNorm2dOptions(3)
                    .eps(kBatchNormEps)
                    .momentum(kMomentum)) {
    ours_.to(torch::kFloat64);
    theirs_->to(torch::kFloat64);
    const torch::NoGradGuard no_grad;
    for (auto* module : {static_cast<torch::nn::Module*>(&ours_),
                         static_cast<torch::nn::Module*>(theirs_.get())}) {
      module->named_parameters()["weight"].copy_(Ramp({3}) + 1);
      module->named_parameters()["bias"].copy_(Ramp({3}));
    }
    ours_.forward(Ramp({2, 3, 4, 4}), ForwardMode::kTrain);
    theirs_->forward(Ramp({2, 3, 4, 4}));
  }

  BatchNorm ours_;
  torch::nn::BatchNorm2d theirs_;
};

TEST_F(BatchNormTest, TrainingEqualsPyTorch) {
  const at::Tensor input = Ramp({4, 3, 5, 5}) * 2;
  EXPECT_TRUE(at::equal(ours_.forward(input, ForwardMode::kTrain),
                        theirs_->forward(input)));
  const auto buffers = Copy(ours_);
  EXPECT_TRUE(at::equal(buffers.at("running_mean"), theirs_->running_mean));
  EXPECT_TRUE(at::equal(buffers.at("running_var"), theirs_->running_var));
  EXPECT_EQ(buffers.at("num_batches_tracked").item<int64_t>(), 2);
}

TEST_F(BatchNormTest, EvaluationEqualsPyTorch) {
  const at::Tensor input = Ramp({4, 3, 5, 5}) * 2;
  const auto before = Copy(ours_);
  theirs_->eval();
  EXPECT_TRUE(at::equal(ours_.forward(input, ForwardMode::kEvaluate),
                        theirs_->forward(input)));
  for (const auto& [name, tensor] : Copy(ours_)) {
    EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
  }
}

TEST_F(BatchNormTest, AFrozenPassUsesTheBatchAndRecordsNothing) {
  const at::Tensor input = Ramp({4, 3, 5, 5}) * 2;
  const auto before = Copy(ours_);
  const at::Tensor frozen = ours_.forward(input, ForwardMode::kFrozen);
  for (const auto& [name, tensor] : Copy(ours_)) {
    EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
  }
  EXPECT_TRUE(at::equal(frozen, ours_.forward(input, ForwardMode::kTrain)));
}

TEST_F(BatchNormTest, FlatInputEqualsPyTorch) {
  const at::Tensor input = Ramp({8, 3});
  torch::nn::BatchNorm1d theirs(
      torch::nn::BatchNorm1dOptions(3).eps(kBatchNormEps).momentum(kMomentum));
  theirs->to(torch::kFloat64);
  BatchNorm ours(
      {.num_features = 3, .eps = kBatchNormEps, .momentum = kMomentum});
  ours.to(torch::kFloat64);
  EXPECT_TRUE(at::equal(ours.forward(input, ForwardMode::kTrain),
                        theirs->forward(input)));
}

TEST_F(BatchNormTest, ConversionKeepsTheCounterAnInteger) {
  ours_.to(torch::kFloat32);
  ours_.to(torch::kCPU, torch::kFloat64);
  const auto buffers = Copy(ours_);
  EXPECT_EQ(buffers.at("num_batches_tracked").scalar_type(), torch::kInt64);
  EXPECT_EQ(buffers.at("num_batches_tracked").item<int64_t>(), 1);
  EXPECT_EQ(buffers.at("running_var").scalar_type(), torch::kFloat64);
}

// Three ranks with the same images.
class ThreeAlike : public FleetGather {
 public:
  at::Tensor Gather(const at::Tensor& values_K) override {
    ++calls_;
    return values_K.unsqueeze(0).repeat({3, 1});
  }
  int calls() const { return calls_; }

 private:
  int calls_ = 0;
};

TEST_F(BatchNormTest, TheModesAreTheSameOverAFleet) {
  const at::Tensor input = Ramp({4, 3, 5, 5}) * 2;
  const at::Tensor images = at::cat({input, input, input});
  const auto fleet = std::make_shared<ThreeAlike>();
  ours_.SyncOver(fleet);

  const auto before = Copy(ours_);
  theirs_->eval();
  EXPECT_TRUE(at::equal(ours_.forward(input, ForwardMode::kEvaluate),
                        theirs_->forward(input)));
  EXPECT_EQ(fleet->calls(), 0);
  theirs_->train();
  const at::Tensor frozen = ours_.forward(input, ForwardMode::kFrozen);
  EXPECT_EQ(fleet->calls(), 1);
  for (const auto& [name, tensor] : Copy(ours_)) {
    EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
  }
  const at::Tensor expected = theirs_->forward(images).narrow(0, 0, 4);
  EXPECT_TRUE(at::allclose(frozen, expected, 1e-12, 1e-12));
  EXPECT_TRUE(at::equal(frozen, ours_.forward(input, ForwardMode::kTrain)));
  const auto buffers = Copy(ours_);
  EXPECT_TRUE(at::allclose(buffers.at("running_mean"), theirs_->running_mean,
                           1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(buffers.at("running_var"), theirs_->running_var,
                           1e-12, 1e-12));
  EXPECT_EQ(buffers.at("num_batches_tracked").item<int64_t>(), 2);

  ours_.SyncOver(nullptr);
  ours_.forward(input, ForwardMode::kTrain);
  EXPECT_EQ(fleet->calls(), 2);
}

TEST(BatchNormFleetTest, ShortInputHasStatisticsInFloat32) {
  BatchNorm layer({.num_features = 3, .affine = false});
  layer.SyncOver(std::make_shared<ThreeAlike>());
  const at::Tensor input =
      (Ramp({64, 3, 8, 8}) + 5).to(torch::kFloat32).to(torch::kBFloat16);
  const at::Tensor output = layer.forward(input, ForwardMode::kTrain);
  EXPECT_EQ(output.scalar_type(), torch::kBFloat16);
  const at::Tensor exact = input.to(torch::kFloat64).mean({0, 2, 3}) * 0.1;
  EXPECT_TRUE(
      at::allclose(layer.named_buffers()["running_mean"].to(torch::kFloat64),
                   exact, 1e-6, 0));
}

}  // namespace
}  // namespace gandem
