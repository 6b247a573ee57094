// SPDX-License-Identifier: Apache-2.0
//
// The 64-pixel ResNet of WGAN-GP (Gulrajani et al. 2017, appendix F, "Good" in
// the authors' gan_64x64.py). Images do not affect each other in the critic.
//
//   G: linear 8w@4 -> blocks 8w@8 -> 4w@16 -> 2w@32 -> w@64 -> batch norm,
//      ReLU, conv3x3, tanh
//   D: conv3x3 w@64 -> blocks 2w@32 -> 4w@16 -> 8w@8 -> 8w@4 -> linear over all
//      features; layer norm over channels and pixels, hidden layers as wide as
//      the input of their block, shortcuts that average first
//
// The first convolution of every block has no bias. Initial values are
// Glorot's, times sqrt(2) (the authors' he_init) except in linear layers,
// shortcuts and D's first convolution.
#include <numbers>

#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/layer_style.h"
#include "models/layers/residual_block.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int64_t kWganGpSmallest = 4;  // height and width of the widest layer
constexpr int64_t kWganGpWidest = 8;    // times the width
constexpr double kHeInit = std::numbers::sqrt2;

class WganGpGenerator : public Generator {
 public:
  WganGpGenerator(const WganGpConfig& config, const DataShape& data)
      : noise_dim_(config.noise_dim()),
        widest_(kWganGpWidest * config.width()) {
    int64_t channels = widest_;
    linear_ = register_module(
        "linear",
        MakeLinear(noise_dim_, channels * kWganGpSmallest * kWganGpSmallest));
    main_ = register_module("main", std::make_shared<Sequence>());
    for (const int64_t multiple : {8, 4, 2, 1}) {
      main_->Add(std::make_shared<GeneratorBlock>(
          GeneratorBlock::Options{.in_channels = channels,
                                  .out_channels = multiple * config.width(),
                                  .style = {.init_gain = kHeInit},
                                  .first_bias = false}));
      channels = multiple * config.width();
    }
    main_->Add(MakeBatchNorm(channels))
        .Add(&Relu)
        .Add(MakeConvolution(channels, data.image.channels, /*kernel=*/3,
                             {.init_gain = kHeInit}))
        .Add(&Tanh);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    const at::Tensor x = linear_->forward(noise_NZ, mode);
    return main_->forward(
        x.view({-1, widest_, kWganGpSmallest, kWganGpSmallest}), mode);
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const int64_t widest_;  // channels
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Sequence> main_;
};

class WganGpDiscriminator : public Discriminator {
 public:
  WganGpDiscriminator(const WganGpConfig& config, const DataShape& data) {
    int64_t channels = config.width();
    main_ = register_module("main", std::make_shared<Sequence>());
    main_->Add(MakeConvolution(data.image.channels, channels, /*kernel=*/3));
    for (const int64_t multiple : {2, 4, 8, 8}) {
      main_->Add(std::make_shared<DiscriminatorBlock>(
          DiscriminatorBlock::Options{.in_channels = channels,
                                      .hidden_channels = channels,
                                      .out_channels = multiple * config.width(),
                                      .halve = true,
                                      .norm = DiscriminatorBlock::Norm::kLayer,
                                      .init_gain = kHeInit,
                                      .first_bias = false,
                                      .average_first = true}));
      channels = multiple * config.width();
    }
    linear_ = register_module(
        "linear", MakeLinear(channels * kWganGpSmallest * kWganGpSmallest,
                             /*out_features=*/1));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode mode) override {
    const at::Tensor features = main_->forward(images_NCHW, mode).flatten(1);
    return {.logits = linear_->forward(features, mode).squeeze(1)};
  }

 private:
  std::shared_ptr<Sequence> main_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace

NetworkFamily WganGpFamily() {
  return MakeFamily<WganGpGenerator, WganGpDiscriminator>(
      {.name = "wgan_gp", .init = WeightInit::kGlorot},
      &NetworkConfig::wgan_gp);
}

}  // namespace gandem
