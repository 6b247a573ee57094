// SPDX-License-Identifier: Apache-2.0
//
// Residual blocks of BigGAN-deep (Brock et al. 2019, appendix B): four
// convolutions 1x1, 3x3, 3x3, 1x1 with a quarter of the channels, and shortcuts
// that keep channels instead of mixing them.
//
//   generator      norm, ReLU before each convolution, [up] before the second
//                  + the first out_channels channels of x, [up]
//   discriminator  ReLU before each convolution, [mean pool] before the last
//                  + [mean pool], x with conv1x1(x) appended if there are more
//                    channels
//
// mixing_shortcut is StudioGAN's variant: the generator's shortcuts have a
// conv1x1, and so do the discriminator's if channels or size change; the
// discriminator pools before its last ReLU.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <array>
#include <memory>

#include "models/layers/layer.h"
#include "models/layers/layer_style.h"
#include "models/layers/weighted.h"

namespace gandem {

class BottleneckGeneratorBlock : public ConditionalLayer {
 public:
  struct Options {
    int64_t in_channels = 0;   // required, a multiple of 4
    int64_t out_channels = 0;  // required, at most in_channels
    bool upsample = false;
    bool mixing_shortcut = false;
    LayerStyle style = {};
  };

  explicit BottleneckGeneratorBlock(const Options& options);

  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& condition,
                          ForwardMode mode) override;

 private:
  const int64_t out_channels_;
  const bool upsample_;
  std::array<std::shared_ptr<Layer>, 4> norms_;
  std::array<std::shared_ptr<Conv2d>, 4> convolutions_;
  std::shared_ptr<Conv2d> shortcut_;  // null: channels are dropped
};

class BottleneckDiscriminatorBlock : public Layer {
 public:
  struct Options {
    int64_t in_channels = 0;   // required, >= 1
    int64_t out_channels = 0;  // required, a multiple of 4, >= in_channels
    bool halve = false;        // halve height and width
    bool mixing_shortcut = false;
    bool rectified_shortcut = false;  // as in residual_block.h
    LayerStyle style = {};
  };

  explicit BottleneckDiscriminatorBlock(const Options& options);

  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;

 private:
  at::Tensor Shortcut(const at::Tensor& input, ForwardMode mode);

  const Options options_;
  std::array<std::shared_ptr<Conv2d>, 4> convolutions_;
  std::shared_ptr<Conv2d> shortcut_;  // null: identity
};

}  // namespace gandem
