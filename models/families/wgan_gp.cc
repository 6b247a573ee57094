// SPDX-License-Identifier: Apache-2.0
//
// The 64-pixel ResNet of WGAN-GP (Gulrajani et al. 2017, appendix F, "Good" in
// the authors' gan_64x64.py): no image sees another one in the critic.
//
//   G: linear 8w@4 -> blocks 8w@8 -> 4w@16 -> 2w@32 -> w@64 -> batch norm,
//   ReLU,
//      conv3x3, tanh
//   D: conv3x3 w@64 -> blocks 2w@32 -> 4w@16 -> 8w@8 -> 8w@4 -> linear over all
//      features; layer norm over channels and pixels, hidden layers as wide as
//      the input of their block, shortcuts that average first
//
// The first convolution of every block has no bias.

#include "models/families/family.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/residual_block.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr int64_t kWganGpSmallest = 4;  // height and width of the widest layer
constexpr int64_t kWganGpWidest = 8;    // times the width

struct WganGpOptions {
  int64_t width = 0;
  int64_t noise_dim = 0;
  int64_t image_channels = 0;
};

WganGpOptions WganGpOptionsFrom(const NetworkConfig& network,
                                const DataShape& data) {
  return {.width = network.wgan_gp().width(),
          .noise_dim = network.wgan_gp().noise_dim(),
          .image_channels = data.image.channels};
}

std::shared_ptr<Conv2d> MakeWganGpConvolution(int64_t in_channels,
                                              int64_t out_channels) {
  return std::make_shared<Conv2d>(ConvOptions{.in_channels = in_channels,
                                              .out_channels = out_channels,
                                              .kernel = 3,
                                              .padding = 1});
}

class WganGpGenerator : public Generator {
 public:
  explicit WganGpGenerator(const WganGpOptions& options)
      : noise_dim_(options.noise_dim) {
    int64_t channels = kWganGpWidest * options.width;
    linear_ = register_module(
        "linear",
        std::make_shared<Linear>(Linear::Options{
            .in_features = noise_dim_,
            .out_features = channels * kWganGpSmallest * kWganGpSmallest}));
    main_ = register_module("main", std::make_shared<Sequence>());
    for (const int64_t multiple : {8, 4, 2, 1}) {
      main_->Add(std::make_shared<GeneratorBlock>(
          GeneratorBlock::Options{.in_channels = channels,
                                  .out_channels = multiple * options.width,
                                  .first_bias = false}));
      channels = multiple * options.width;
    }
    main_
        ->Add(std::make_shared<BatchNorm>(
            BatchNorm::Options{.num_features = channels}))
        .Add(&Relu)
        .Add(MakeWganGpConvolution(channels, options.image_channels))
        .Add(&Tanh);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    const at::Tensor x = linear_->forward(noise_NZ, mode);
    return main_->forward(
        x.view({noise_NZ.size(0), -1, kWganGpSmallest, kWganGpSmallest}), mode);
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Sequence> main_;
};

class WganGpDiscriminator : public Discriminator {
 public:
  explicit WganGpDiscriminator(const WganGpOptions& options) {
    int64_t channels = options.width;
    main_ = register_module("main", std::make_shared<Sequence>());
    main_->Add(MakeWganGpConvolution(options.image_channels, channels));
    for (const int64_t multiple : {2, 4, 8, 8}) {
      main_->Add(std::make_shared<DiscriminatorBlock>(
          DiscriminatorBlock::Options{.in_channels = channels,
                                      .hidden_channels = channels,
                                      .out_channels = multiple * options.width,
                                      .halve = true,
                                      .norm = DiscriminatorBlock::Norm::kLayer,
                                      .first_bias = false,
                                      .average_first = true}));
      channels = multiple * options.width;
    }
    linear_ = register_module(
        "linear",
        std::make_shared<Linear>(Linear::Options{
            .in_features = channels * kWganGpSmallest * kWganGpSmallest,
            .out_features = 1}));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode mode) override {
    const at::Tensor features = main_->forward(images_NCHW, mode).flatten(1);
    return {.logits_N = linear_->forward(features, mode).squeeze(1)};
  }

 private:
  std::shared_ptr<Sequence> main_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace

NetworkFamily WganGpFamily() {
  return MakeFamily<WganGpGenerator, WganGpDiscriminator>(
      {.name = "wgan_gp", .init = WeightInit::kGlorot}, &WganGpOptionsFrom);
}

}  // namespace gandem
