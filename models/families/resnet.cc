// SPDX-License-Identifier: Apache-2.0
#include "models/families/resnet.h"

#include <utility>

#include "common/check.h"
#include "models/layers/batch_norm.h"
#include "models/layers/bottleneck_block.h"
#include "models/layers/self_attention.h"
#include "models/torch.h"

namespace gandem {
namespace {

using ResnetNoise = ResnetOptions::Noise;

static_assert(SelfAttention::kChannelDivisor == kAttentionChannelDivisor);

// Sizes of a condition's parts, class and noise; 0: absent.
int64_t ClassDim(const ResnetOptions& options) {
  return options.class_dim > 0 ? options.class_dim : options.num_classes;
}

int64_t ChunkDim(const ResnetOptions& options) {
  const ResnetPlan& plan = options.plan;
  if (options.noise == ResnetNoise::kLinear) return 0;
  if (options.noise == ResnetNoise::kEverywhere) return plan.noise_dim;
  return plan.noise_dim / static_cast<int64_t>(plan.generator.size());
}

int64_t LinearDim(const ResnetOptions& options) {
  if (options.noise == ResnetNoise::kLinear) return options.plan.noise_dim;
  if (options.noise == ResnetNoise::kChunks) return ChunkDim(options);
  return ClassDim(options) + options.plan.noise_dim;
}

at::Tensor Joined(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? at::cat({a, b}, /*dim=*/1) : a;
}

LayerStyle DiscriminatorStyle(const ResnetOptions& options) {
  return {.spectral_norm =
              options.block.norm == DiscriminatorBlock::Norm::kSpectral,
          .spectral_norm_eps = options.block.spectral_norm_eps};
}

}  // namespace

ResnetGenerator::ResnetGenerator(const ResnetOptions& options)
    : options_(options) {
  LayerStyle style = options_.style;
  const int64_t first = options_.plan.generator.front();
  linear_ = register_module(
      "linear",
      MakeLinear(LinearDim(options_),
                 first * options_.plan.smallest * options_.plan.smallest,
                 style));
  if (options_.class_dim > 0) {
    // No spectral norm, which would cripple the generator (models.md 2.4).
    shared_ = register_module(
        "shared",
        std::make_shared<Embedding>(Embedding::Options{
            .num_classes = options_.num_classes, .dim = options_.class_dim}));
  }
  style.condition_dim = ClassDim(options_) + ChunkDim(options_);
  style.per_class = options_.per_class;
  AddStages(style);
  const int64_t last = options_.plan.generator.back();
  norm_ = register_module("norm", MakeBatchNorm(last, style.norm_eps));
  conv_ = register_module(
      "conv", MakeConvolution(last, options_.image.channels, 3, style));
}

void ResnetGenerator::AddStages(const LayerStyle& style) {
  blocks_ = register_module("blocks", std::make_shared<Sequence>());
  const auto add = [&](std::shared_ptr<Layer> layer, size_t stage) {
    blocks_->Add(std::move(layer));
    stage_of_.push_back(stage);
  };
  int64_t size = options_.plan.smallest;
  for (size_t stage = 0; stage + 1 < options_.plan.generator.size(); ++stage) {
    const int64_t in = options_.plan.generator[stage];
    const int64_t out = options_.plan.generator[stage + 1];
    if (options_.plan.bottleneck) {
      BottleneckGeneratorBlock::Options block = {
          .in_channels = in,
          .out_channels = in,
          .mixing_shortcut = options_.mixing_shortcut,
          .style = style};
      add(std::make_shared<BottleneckGeneratorBlock>(block), stage);
      block.out_channels = out;
      block.upsample = true;
      add(std::make_shared<BottleneckGeneratorBlock>(block), stage);
    } else {
      add(std::make_shared<GeneratorBlock>(
              GeneratorBlock::Options{.in_channels = in,
                                      .out_channels = out,
                                      .style = style,
                                      .upsample = options_.upsample}),
          stage);
    }
    size *= 2;
    if (size != options_.plan.attention_size) continue;
    add(std::make_shared<SelfAttention>(out, style), stage);
  }
}

at::Tensor ResnetGenerator::forward(const at::Tensor& noise_NZ,
                                    const Condition& condition,
                                    ForwardMode mode) {
  const at::Tensor of_class =
      ClassCondition(condition, noise_NZ.scalar_type(), mode);
  // Noise for the linear layer, then for each stage.
  const size_t parts = options_.plan.generator.size();
  std::vector<at::Tensor> noise(parts);
  switch (options_.noise) {
    case ResnetNoise::kLinear:
      noise[0] = noise_NZ;
      break;
    case ResnetNoise::kChunks:
      noise = noise_NZ.split(ChunkDim(options_), /*dim=*/1);
      break;
    case ResnetNoise::kEverywhere:
      noise.assign(parts, noise_NZ);
      noise[0] = Joined(of_class, noise_NZ);
      break;
  }
  std::vector<at::Tensor> conditions;
  for (const size_t stage : stage_of_) {
    conditions.push_back(Joined(of_class, noise[stage + 1]));
  }
  at::Tensor x = linear_->forward(noise[0], mode)
                     .view({-1, options_.plan.generator.front(),
                            options_.plan.smallest, options_.plan.smallest});
  x = blocks_->ForwardEach(x, conditions, mode);
  x = Relu(norm_->forward(x, mode));
  return Tanh(conv_->forward(x, mode));
}

at::Tensor ResnetGenerator::ClassCondition(const Condition& condition,
                                           at::ScalarType dtype,
                                           ForwardMode mode) {
  if (options_.num_classes == 0) return {};
  const at::Tensor& labels_N = condition.labels_N;
  GANDEM_CHECK(labels_N.defined());
  if (options_.per_class) return labels_N;
  if (shared_) return shared_->forward(labels_N, mode);
  return at::one_hot(labels_N, options_.num_classes).to(dtype);
}

ResnetDiscriminator::ResnetDiscriminator(const ResnetOptions& options)
    : options_(options) {
  blocks_ = register_module("blocks", std::make_shared<Sequence>());
  const LayerStyle style = DiscriminatorStyle(options_);
  int64_t channels = options_.image.channels;
  size_t first_stage = 0;  // in options_.plan.discriminator
  if (options_.plan.bottleneck) {
    blocks_->Add(
        MakeConvolution(channels, options_.plan.discriminator[0], 3, style));
    channels = options_.plan.discriminator[0];
    first_stage = 1;
  }
  int64_t size = options_.image.height;
  for (size_t i = first_stage; i < options_.plan.discriminator.size(); ++i) {
    const size_t stage = i - first_stage;
    blocks_->Add(MakeBlock(stage, channels, /*first_of_stage=*/true));
    channels = options_.plan.discriminator[i];
    if (options_.plan.bottleneck) {
      blocks_->Add(MakeBlock(stage, channels, /*first_of_stage=*/false));
    }
    if (static_cast<int64_t>(stage) >= options_.plan.num_halving) continue;
    size /= 2;
    if (size != options_.plan.attention_size) continue;
    blocks_->Add(std::make_shared<SelfAttention>(channels, style));
  }
  DiscriminatorHead::Options head = options_.head;
  if (options_.num_classes == 0) head.kind = DiscriminatorHead::Kind::kPlain;
  head.features = channels;
  head.num_classes = options_.num_classes;
  head.style = style;
  head_ = std::make_unique<DiscriminatorHead>(*this, head);
}

std::shared_ptr<Layer> ResnetDiscriminator::MakeBlock(
    size_t stage, int64_t in_channels, bool first_of_stage) const {
  const bool halve =
      first_of_stage && static_cast<int64_t>(stage) < options_.plan.num_halving;
  if (options_.plan.bottleneck) {
    return std::make_shared<BottleneckDiscriminatorBlock>(
        BottleneckDiscriminatorBlock::Options{
            .in_channels = in_channels,
            .out_channels = options_.plan.discriminator[stage + 1],
            .halve = halve,
            .mixing_shortcut = options_.mixing_shortcut,
            .rectified_shortcut = options_.block.rectified_shortcut,
            .style = DiscriminatorStyle(options_)});
  }
  DiscriminatorBlock::Options block = options_.block;
  block.first = stage == 0;
  block.in_channels = in_channels;
  block.out_channels = options_.plan.discriminator[stage];
  block.hidden_channels =
      options_.thin && !block.first ? block.in_channels : block.out_channels;
  block.halve = halve;
  return std::make_shared<DiscriminatorBlock>(block);
}

Verdict ResnetDiscriminator::forward(const at::Tensor& images_NCHW,
                                     const Condition& condition,
                                     ForwardMode mode) {
  const at::Tensor x = Relu(blocks_->forward(images_NCHW, mode));
  const at::Tensor features_NC =
      options_.mean_pool ? x.mean({2, 3}) : SumPool(x);
  return head_->Judge(features_NC, condition, mode);
}

}  // namespace gandem
