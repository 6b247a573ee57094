// SPDX-License-Identifier: Apache-2.0
//
// Self-attention over the pixels of a feature map (Zhang et al. 2019, section
// 3), as in the authors' code: queries with C/8 channels at all pixels, keys
// with C/8 and values with C/2 channels at a quarter of the pixels (2 x 2
// maximum), without division by sqrt(C/8) and without biases:
//   weights = softmax over keys of query . key
//   output  = input + sigma * conv1x1(sum of weights * value)
// sigma is initially 0, so that the layer starts as the identity.
//
// Tensors: theta, phi, g, o (1x1 convolutions: queries, keys, values, output),
// sigma [1].
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/layers/layer.h"
#include "models/layers/layer_style.h"
#include "models/layers/weighted.h"

namespace gandem {

class SelfAttention : public Layer {
 public:
  static constexpr int64_t kChannelDivisor = 8;

  // `channels` must be a multiple of kChannelDivisor.
  explicit SelfAttention(int64_t channels, const LayerStyle& style = {});

  // Keeps the shape. Height and width must be even.
  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override;

 private:
  std::shared_ptr<Conv2d> theta_;
  std::shared_ptr<Conv2d> phi_;
  std::shared_ptr<Conv2d> g_;
  std::shared_ptr<Conv2d> o_;
  at::Tensor sigma_;
};

}  // namespace gandem
