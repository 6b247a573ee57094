// SPDX-License-Identifier: Apache-2.0
//
// Residual networks of SNGAN, SAGAN, BigGAN and BigGAN-deep. They differ in
// channels, class and noise inputs of the generator's norms, attention, and the
// discriminator's head. The families' sources set the options.
//
//   G: linear, blocks with attention, batch norm, ReLU, conv3x3, tanh
//   D: [conv3x3 if bottleneck,] blocks with attention, ReLU, sum or mean over
//      pixels, head
//
// A stage is one block, or two if bottleneck: the first of two keeps size and
// channels in the generator and changes them in the discriminator.
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/config/resnet_plan.h"
#include "models/layers/discriminator_head.h"
#include "models/layers/layer.h"
#include "models/layers/layer_style.h"
#include "models/layers/residual_block.h"
#include "models/layers/weighted.h"
#include "models/network.h"

namespace gandem {

struct ResnetOptions {
  // Layers that receive the noise.
  enum class Noise {
    kLinear,      // the first layer
    kChunks,      // equal parts: the first layer, then one per block
    kEverywhere,  // all noise for the first layer and every block
  };

  ResnetPlan plan = {};
  ImageShape image = {};
  int64_t num_classes = 0;       // 0: unconditional
  bool mixing_shortcut = false;  // bottleneck_block.h

  // Options of the generator.
  Noise noise = Noise::kLinear;
  int64_t class_dim = 0;   // of the blocks' shared embedding; 0: one-hot
  bool per_class = false;  // norms embed the label themselves; kLinear only
  Sequence::Function upsample = &Upsample;  // not if plan.bottleneck
  LayerStyle style = {};                    // without the fields for conditions

  // Options of the discriminator.
  //
  // Whether a block's hidden layers are as wide as its input (except the first
  // block, which has three channels: traps.md 4) instead of its output.
  bool thin = false;
  bool mean_pool = false;  // false: sum (traps.md 16)
  // Norm, eps and shortcut of all blocks.
  DiscriminatorBlock::Options block = {};
  // Kind and options of the head. The network sets features, num_classes and
  // style, and makes the head plain without classes.
  DiscriminatorHead::Options head = {};
};

class ResnetGenerator : public Generator {
 public:
  explicit ResnetGenerator(const ResnetOptions& options);

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override;
  int64_t noise_dim() const override { return options_.plan.noise_dim; }

 private:
  void AddStages(const LayerStyle& style);
  // Returns the class input of the norms; undefined if there is none.
  at::Tensor ClassCondition(const Condition& condition, at::ScalarType dtype,
                            ForwardMode mode);

  const ResnetOptions options_;
  std::shared_ptr<Linear> linear_;
  std::shared_ptr<Embedding> shared_;  // null: no shared embedding
  std::shared_ptr<Sequence> blocks_;
  std::vector<size_t> stage_of_;  // for each entry of blocks_
  std::shared_ptr<Layer> norm_;
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

  const ResnetOptions options_;
  std::shared_ptr<Sequence> blocks_;  // including stem and attention
  std::unique_ptr<DiscriminatorHead> head_;
};

}  // namespace gandem
