// SPDX-License-Identifier: Apache-2.0
//
// The residual networks of SNGAN, SAGAN, BigGAN and BigGAN-deep, which differ
// in channels, in what the generator's norms are told of the class and of the
// noise, in attention, and in the discriminator's head. Families (sngan.cc,
// sagan.cc, biggan.cc) fill in the options, whose sizes are those of a
// ResnetPlan (common/config/resnet_plan.h).
//
//   G: linear, blocks with attention, batch norm, ReLU, conv3x3, tanh
//   D: [conv3x3 if bottleneck,] blocks with attention, ReLU, sum or mean over
//      pixels, head
//
// A stage is one block, or two if bottleneck: the first one keeps size and
// channels in the generator and changes them in the discriminator.
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/layers/batch_norm.h"
#include "models/layers/discriminator_head.h"
#include "models/layers/layer.h"
#include "models/layers/layer_style.h"
#include "models/layers/residual_block.h"
#include "models/layers/weighted.h"
#include "models/network.h"

namespace gandem {

struct ResnetGeneratorOptions {
  // What the noise goes into.
  enum class Noise {
    kLinear,      // the first layer
    kChunks,      // equal parts: the first layer, then one for each block
    kEverywhere,  // all of it into the first layer and every block
  };

  std::vector<int64_t> channels;  // of the first layer and after each stage
  int64_t smallest = 4;           // height and width of the first layer
  int64_t noise_dim = 0;          // kChunks: a multiple of channels.size()
  Noise noise = Noise::kLinear;
  int64_t num_classes = 0;     // 0: not conditional
  int64_t class_dim = 0;       // of the blocks' shared embedding; 0: one-hot
  bool per_class = false;      // norms embed the label themselves; kLinear only
  int64_t attention_size = 0;  // after the stage of this height; 0: none
  bool bottleneck = false;
  bool mixing_shortcut = false;  // bottleneck_block.h
  int64_t image_channels = 0;
  Sequence::Function upsample = &Upsample;  // not if bottleneck
  LayerStyle style = {};                    // but for what conditions need
};

struct ResnetDiscriminatorOptions {
  // After each stage; if bottleneck, after the first convolution, too.
  std::vector<int64_t> channels;
  int64_t num_halving = 0;  // stages that halve, the first ones
  // Hidden layers of a block are as wide as its input, but for the first block,
  // whose input has three channels (traps.md 4). Otherwise as its output.
  bool thin = false;
  int64_t image_size = 0;
  int64_t image_channels = 0;
  int64_t attention_size = 0;  // as above
  bool bottleneck = false;
  bool mixing_shortcut = false;
  bool mean_pool = false;  // otherwise sums (traps.md 16)
  DiscriminatorBlock::Options block =
      {};                                // norm, eps and shortcut of all blocks
  DiscriminatorHead::Options head = {};  // but for features and style
};

struct ResnetOptions {
  ResnetGeneratorOptions generator;
  ResnetDiscriminatorOptions discriminator;
};

class ResnetGenerator : public Generator {
 public:
  explicit ResnetGenerator(const ResnetOptions& options);

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override;
  int64_t noise_dim() const override { return options_.noise_dim; }

 private:
  void AddStages(const LayerStyle& style);
  // What norms are told of the class; undefined: nothing.
  at::Tensor ClassCondition(const Condition& condition, at::ScalarType dtype,
                            ForwardMode mode);

  const ResnetGeneratorOptions options_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Embedding> shared_;  // null: no shared embedding
  std::shared_ptr<Sequence> blocks_;
  std::vector<size_t> stage_of_;  // of each entry of blocks_
  std::shared_ptr<BatchNorm> norm_;
  std::shared_ptr<Conv2d> conv_;
};

class ResnetDiscriminator : public Discriminator {
 public:
  explicit ResnetDiscriminator(const ResnetOptions& options);

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override;

 private:
  std::shared_ptr<Layer> MakeBlock(size_t stage, int64_t in_channels,
                                   bool first_of_stage) const;

  const ResnetDiscriminatorOptions options_;
  std::shared_ptr<Sequence> blocks_;  // stem and attention included
  std::unique_ptr<DiscriminatorHead> head_;
};

}  // namespace gandem
