// SPDX-License-Identifier: Apache-2.0
//
// Residual blocks of SNGAN (Miyato et al. 2018), SAGAN and BigGAN (Brock et al.
// 2019, figure 15) and WGAN-GP (Gulrajani et al. 2017; models.md 2.2, 2.3,
// 3.11). Generator blocks are conditional if their style is.
//
//   GeneratorBlock      norm, ReLU, up, conv3x3, norm, ReLU, conv3x3;
//                       shortcut: up, conv1x1
//   DiscriminatorBlock  [norm], ReLU, conv3x3, [norm], ReLU, conv3x3, [down];
//                       shortcut: [norm], conv1x1, [down], or the input
//
// A discriminator's first block sees pixels: it has no leading norm and ReLU,
// and its shortcut averages before the convolution.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/layers/layer.h"
#include "models/layers/layer_style.h"

namespace gandem {

// Doubles height and width.
class GeneratorBlock : public ConditionalLayer {
 public:
  struct Options {
    int64_t in_channels = 0;   // required, >= 1
    int64_t out_channels = 0;  // required, >= 1
    LayerStyle style = {};     // the shortcut has no init_gain
    bool first_bias = true;    // for the first convolution
    Sequence::Function upsample = &Upsample;
  };

  explicit GeneratorBlock(const Options& options);

  at::Tensor ForwardGiven(const at::Tensor& input_NCHW,
                          const at::Tensor& condition,
                          ForwardMode mode) override;

 private:
  const Options options_;
  std::shared_ptr<Layer> norm1_;
  std::shared_ptr<Layer> conv1_;
  std::shared_ptr<Layer> norm2_;
  std::shared_ptr<Layer> conv2_;
  std::shared_ptr<Layer> shortcut_;
};

class DiscriminatorBlock : public Layer {
 public:
  enum class Norm {
    kSpectral,  // of the weights
    kBatch,     // before ReLUs and, as in StudioGAN, in the shortcut
    kLayer,     // before ReLUs
    kNone,
  };
  struct Options {
    int64_t in_channels = 0;      // required, >= 1
    int64_t hidden_channels = 0;  // required, >= 1
    int64_t out_channels = 0;     // required, >= 1
    bool first = false;
    bool halve = false;  // halve height and width
    Norm norm = Norm::kSpectral;
    double batch_norm_eps = 1e-5;
    double spectral_norm_eps = 1e-12;
    double init_gain = 1;    // of all convolutions except the shortcut; layer.h
    bool first_bias = true;  // for the first convolution
    // The shortcut reads the ReLU of the block's input (traps.md 1).
    bool rectified_shortcut = false;
    // The shortcut averages before the convolution, as in the first block.
    bool average_first = false;
  };

  explicit DiscriminatorBlock(const Options& options);

  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override;

 private:
  std::shared_ptr<Layer> MakeNorm(int64_t channels) const;  // null: none
  at::Tensor Shortcut(const at::Tensor& input_NCHW, ForwardMode mode);

  const Options options_;
  std::shared_ptr<Layer> norm1_;  // null: none
  std::shared_ptr<Layer> conv1_;
  std::shared_ptr<Layer> norm2_;  // null: none
  std::shared_ptr<Layer> conv2_;
  std::shared_ptr<Layer> shortcut_norm_;  // null: none
  std::shared_ptr<Layer> shortcut_;       // null: identity
};

}  // namespace gandem
