// SPDX-License-Identifier: Apache-2.0
#include "models/sngan.h"

#include <torch/torch.h>

#include <array>
#include <string>

#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/weighted.h"

namespace gandem {
namespace {

constexpr double kBatchNormEps = 2e-5;  // Chainer's default
constexpr int64_t kSmallest = 4;  // height and width of the generator's input

std::shared_ptr<BatchNorm> MakeNorm(int64_t channels) {
  return std::make_shared<BatchNorm>(
      BatchNorm::Options{.num_features = channels, .eps = kBatchNormEps});
}

// Keeps height and width; `kernel` is 3 or 1.
std::shared_ptr<Conv2d> MakeConvolution(int64_t in_channels,
                                        int64_t out_channels, int64_t kernel,
                                        bool spectral_norm) {
  return std::make_shared<Conv2d>(ConvOptions{.in_channels = in_channels,
                                              .out_channels = out_channels,
                                              .kernel = kernel,
                                              .padding = kernel / 2,
                                              .spectral_norm = spectral_norm});
}

// Doubles height and width.
class GeneratorBlock : public Layer {
 public:
  explicit GeneratorBlock(int64_t channels)
      : norm1_(register_module("norm1", MakeNorm(channels))),
        conv1_(register_module("conv1",
                               MakeConvolution(channels, channels, 3, false))),
        norm2_(register_module("norm2", MakeNorm(channels))),
        conv2_(register_module("conv2",
                               MakeConvolution(channels, channels, 3, false))),
        shortcut_(register_module(
            "shortcut", MakeConvolution(channels, channels, 1, false))) {}

  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override {
    at::Tensor x = Relu(norm1_->forward(input, mode));
    x = conv1_->forward(Upsample(x), mode);
    x = Relu(norm2_->forward(x, mode));
    x = conv2_->forward(x, mode);
    return x + shortcut_->forward(Upsample(input), mode);
  }

 private:
  const std::shared_ptr<BatchNorm> norm1_;
  const std::shared_ptr<Conv2d> conv1_;
  const std::shared_ptr<BatchNorm> norm2_;
  const std::shared_ptr<Conv2d> conv2_;
  const std::shared_ptr<Conv2d> shortcut_;
};

class SnganGenerator : public Generator {
 public:
  explicit SnganGenerator(const SnganOptions& options)
      : noise_dim_(options.noise_dim), channels_(4 * options.width) {
    linear_ = register_module(
        "linear", std::make_shared<Linear>(Linear::Options{
                      .in_features = noise_dim_,
                      .out_features = channels_ * kSmallest * kSmallest}));
    blocks_ = register_module("blocks", std::make_shared<Sequence>());
    for (int i = 0; i < 3; ++i) {
      blocks_->Add(std::make_shared<GeneratorBlock>(channels_));
    }
    norm_ = register_module("norm", MakeNorm(channels_));
    conv_ = register_module("conv",
                            MakeConvolution(channels_, options.image_channels,
                                            /*kernel=*/3,
                                            /*spectral_norm=*/false));
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    at::Tensor x = linear_->forward(noise_NZ, mode);
    x = x.view({-1, channels_, kSmallest, kSmallest});
    x = blocks_->forward(x, mode);
    x = Relu(norm_->forward(x, mode));
    return Tanh(conv_->forward(x, mode));
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const int64_t channels_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Sequence> blocks_;
  std::shared_ptr<BatchNorm> norm_;
  std::shared_ptr<Conv2d> conv_;
};

// The first block sees pixels, which it must not rectify.
class DiscriminatorBlock : public Layer {
 public:
  struct Options {
    int64_t in_channels = 0;
    int64_t out_channels = 0;
    bool first = false;
    bool halve = false;  // height and width
  };

  explicit DiscriminatorBlock(const Options& options) : options_(options) {
    const int64_t in = options.in_channels;
    const int64_t out = options.out_channels;
    conv1_ = register_module("conv1", MakeConvolution(in, out, 3, true));
    conv2_ = register_module("conv2", MakeConvolution(out, out, 3, true));
    if (options.halve || in != out) {
      shortcut_ =
          register_module("shortcut", MakeConvolution(in, out, 1, true));
    }
  }

  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override {
    // Not in place: the shortcut reads the raw input.
    at::Tensor x = options_.first ? input : at::relu(input);
    x = Relu(conv1_->forward(x, mode));
    x = conv2_->forward(x, mode);
    if (options_.halve) x = Downsample(x);
    return x + Shortcut(input, mode);
  }

 private:
  at::Tensor Shortcut(const at::Tensor& input, ForwardMode mode) {
    if (!shortcut_) return input;
    if (options_.first) return shortcut_->forward(Downsample(input), mode);
    const at::Tensor x = shortcut_->forward(input, mode);
    return options_.halve ? Downsample(x) : x;
  }

  const Options options_;
  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<Conv2d> conv2_;
  std::shared_ptr<Conv2d> shortcut_;  // null: identity
};

class SnganDiscriminator : public Discriminator {
 public:
  explicit SnganDiscriminator(const SnganOptions& options) {
    const int64_t channels = 2 * options.width;
    blocks_ = register_module("blocks", std::make_shared<Sequence>());
    blocks_
        ->Add(std::make_shared<DiscriminatorBlock>(
            DiscriminatorBlock::Options{.in_channels = options.image_channels,
                                        .out_channels = channels,
                                        .first = true,
                                        .halve = true}))
        .Add(std::make_shared<DiscriminatorBlock>(DiscriminatorBlock::Options{
            .in_channels = channels, .out_channels = channels, .halve = true}));
    for (int i = 0; i < 2; ++i) {
      blocks_->Add(
          std::make_shared<DiscriminatorBlock>(DiscriminatorBlock::Options{
              .in_channels = channels, .out_channels = channels}));
    }
    linear_ = register_module(
        "linear",
        std::make_shared<Linear>(Linear::Options{.in_features = channels,
                                                 .out_features = 1,
                                                 .spectral_norm = true}));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode mode) override {
    const at::Tensor features_NC =
        SumPool(Relu(blocks_->forward(images_NCHW, mode)));
    return {.logits_N = linear_->forward(features_NC, mode).squeeze(1)};
  }

 private:
  std::shared_ptr<Sequence> blocks_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace

std::shared_ptr<Generator> MakeSnganGenerator(const SnganOptions& options) {
  return std::make_shared<SnganGenerator>(options);
}

std::shared_ptr<Discriminator> MakeSnganDiscriminator(
    const SnganOptions& options) {
  return std::make_shared<SnganDiscriminator>(options);
}

}  // namespace gandem
