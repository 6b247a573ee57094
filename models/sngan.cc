// SPDX-License-Identifier: Apache-2.0
#include "models/sngan.h"

#include <torch/torch.h>

#include <vector>

#include "common/faults.h"
#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/residual_block.h"
#include "models/layers/weighted.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using Norm = DiscriminatorBlock::Norm;

// Widths in multiples of Options::width.
struct Plan {
  int64_t smallest = 4;                // height and width of G's first layer
  std::vector<int64_t> generator;      // of the first layer and of every block
  std::vector<int64_t> discriminator;  // of every block
  size_t num_halving = 0;              // blocks of D that halve, the first ones
};

struct Options {
  Plan plan;
  int64_t width = 0;
  int64_t noise_dim = 0;
  int64_t image_channels = 0;
  Sequence::Function upsample = &Upsample;
  Norm norm = Norm::kSpectral;
  bool thin = false;
  bool rectified_shortcut = false;
  bool mean_pool = false;
  bool logit_bias = true;
  double batch_norm_eps = 0;
  double spectral_norm_eps = 0;
};

Plan PlanFor(int64_t image_size, bool thin) {
  switch (image_size) {
    case 32:
      return {.generator = {4, 4, 4, 4},
              .discriminator = {2, 2, 2, 2},
              .num_halving = 2};
    case 48:
      return {.smallest = 6,
              .generator = {8, 4, 2, 1},
              .discriminator = {1, 2, 4, 8, 16},
              .num_halving = 4};
    case 64:
      return {.generator = {16, 8, 4, 2, 1},
              .discriminator = {1, 2, 4, 8, 16},
              .num_halving = thin ? size_t{5} : size_t{4}};
    default:
      return {.generator = {16, 16, 8, 4, 2, 1},
              .discriminator = {1, 2, 4, 8, 16, 16},
              .num_halving = 5};
  }
}

Norm NormFrom(SnganConfig::Norm norm) {
  switch (norm) {
    case SnganConfig::SPECTRAL:
      return Norm::kSpectral;
    case SnganConfig::BATCH:
      return Norm::kBatch;
    case SnganConfig::NONE:
      break;
  }
  return Norm::kNone;
}

absl::StatusOr<Options> OptionsFrom(const NetworkConfig& network,
                                    const DataShape& data) {
  const SnganConfig& config = network.sngan();
  Faults faults("network.sngan");
  faults.CheckPositive("batch_norm_eps", config.batch_norm_eps(), 1);
  faults.CheckPositive("spectral_norm_eps", config.spectral_norm_eps(), 1);
  if (config.norm() == SnganConfig::BATCH &&
      config.shortcut() == SnganConfig::RECTIFIED) {
    faults.Add(
        "shortcut RECTIFIED is not defined with norm BATCH: leave it out");
  }
  if (!faults.empty()) return faults.ToStatus();
  const bool bilinear = config.upsampling() == SnganConfig::BILINEAR;
  return Options{
      .plan = PlanFor(data.image.height, config.thin()),
      .width = config.width(),
      .noise_dim = config.noise_dim(),
      .image_channels = data.image.channels,
      .upsample = bilinear ? &UpsampleBilinear : &Upsample,
      .norm = NormFrom(config.norm()),
      .thin = config.thin(),
      .rectified_shortcut = config.shortcut() == SnganConfig::RECTIFIED,
      .mean_pool = config.pool() == SnganConfig::MEAN,
      .logit_bias = config.logit_bias(),
      .batch_norm_eps = config.batch_norm_eps(),
      .spectral_norm_eps = config.spectral_norm_eps()};
}

class SnganGenerator : public Generator {
 public:
  explicit SnganGenerator(const Options& options)
      : noise_dim_(options.noise_dim), smallest_(options.plan.smallest) {
    const std::vector<int64_t>& multiples = options.plan.generator;
    int64_t channels = multiples[0] * options.width;
    linear_ = register_module(
        "linear", std::make_shared<Linear>(Linear::Options{
                      .in_features = noise_dim_,
                      .out_features = channels * smallest_ * smallest_}));
    blocks_ = register_module("blocks", std::make_shared<Sequence>());
    for (size_t i = 1; i < multiples.size(); ++i) {
      const int64_t out_channels = multiples[i] * options.width;
      blocks_->Add(std::make_shared<GeneratorBlock>(
          GeneratorBlock::Options{.in_channels = channels,
                                  .out_channels = out_channels,
                                  .batch_norm_eps = options.batch_norm_eps,
                                  .upsample = options.upsample}));
      channels = out_channels;
    }
    norm_ = register_module(
        "norm", std::make_shared<BatchNorm>(BatchNorm::Options{
                    .num_features = channels, .eps = options.batch_norm_eps}));
    conv_ = register_module("conv", std::make_shared<Conv2d>(ConvOptions{
                                        .in_channels = channels,
                                        .out_channels = options.image_channels,
                                        .kernel = 3,
                                        .padding = 1}));
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode mode) override {
    at::Tensor x = linear_->forward(noise_NZ, mode);
    x = x.view({noise_NZ.size(0), -1, smallest_, smallest_});
    x = blocks_->forward(x, mode);
    x = Relu(norm_->forward(x, mode));
    return Tanh(conv_->forward(x, mode));
  }

  int64_t noise_dim() const override { return noise_dim_; }

 private:
  const int64_t noise_dim_;
  const int64_t smallest_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Sequence> blocks_;
  std::shared_ptr<BatchNorm> norm_;
  std::shared_ptr<Conv2d> conv_;
};

class SnganDiscriminator : public Discriminator {
 public:
  explicit SnganDiscriminator(const Options& options)
      : mean_pool_(options.mean_pool) {
    blocks_ = register_module("blocks", std::make_shared<Sequence>());
    int64_t channels = options.image_channels;
    for (size_t i = 0; i < options.plan.discriminator.size(); ++i) {
      const int64_t out_channels =
          options.plan.discriminator[i] * options.width;
      const bool first = i == 0;
      blocks_->Add(
          std::make_shared<DiscriminatorBlock>(DiscriminatorBlock::Options{
              .in_channels = channels,
              .hidden_channels =
                  options.thin && !first ? channels : out_channels,  // T4
              .out_channels = out_channels,
              .first = first,
              .halve = i < options.plan.num_halving,
              .norm = options.norm,
              .batch_norm_eps = options.batch_norm_eps,
              .spectral_norm_eps = options.spectral_norm_eps,
              .rectified_shortcut = options.rectified_shortcut}));
      channels = out_channels;
    }
    linear_ = register_module(
        "linear", std::make_shared<Linear>(Linear::Options{
                      .in_features = channels,
                      .out_features = 1,
                      .bias = options.logit_bias,
                      .spectral_norm = options.norm == Norm::kSpectral,
                      .spectral_norm_eps = options.spectral_norm_eps}));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode mode) override {
    const at::Tensor x = Relu(blocks_->forward(images_NCHW, mode));
    const at::Tensor features_NC = mean_pool_ ? x.mean({2, 3}) : SumPool(x);
    return {.logits_N = linear_->forward(features_NC, mode).squeeze(1)};
  }

 private:
  const bool mean_pool_;
  std::shared_ptr<Sequence> blocks_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace

NetworkFamily SnganFamily() {
  return MakeFamily<SnganGenerator, SnganDiscriminator>(
      {.name = "sngan", .init = WeightInit::kOrthogonal}, &OptionsFrom);
}

}  // namespace gandem
