// SPDX-License-Identifier: Apache-2.0
//
// Layer normalization (Ba, Kiros and Hinton 2016) of NCHW input, with weight
// and bias per channel. Images do not affect each other, so it suits critics
// with a gradient penalty, unlike batch norm (traps.md 7).
//
//   kImage  statistics over channels, height and width (WGAN-GP's authors)
//   kPixel  statistics over channels, per pixel (Keras)
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include "models/layers/layer.h"

namespace gandem {

class LayerNorm : public Layer {
 public:
  enum class Over { kImage, kPixel };
  struct Options {
    int64_t num_channels = 0;  // required, >= 1
    Over over = Over::kImage;
    double eps = 1e-5;
  };

  explicit LayerNorm(const Options& options);

  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override;

 private:
  const Options options_;
  at::Tensor weight_;
  at::Tensor bias_;
};

}  // namespace gandem
