// SPDX-License-Identifier: Apache-2.0
//
// Self-attention over the pixels of a feature map (Zhang et al. 2019, section
// 3), in the form of its authors' code: queries of C/8 channels at all pixels,
// keys of C/8 and values of C/2 at a quarter of them (maximum over 2 x 2), no
// division by sqrt(C/8), no biases:
//   weights = softmax over keys of query . key
//   output  = input + sigma * conv1x1(sum of weights * value)
// sigma starts at 0: the layer starts as the identity.
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

  // `channels` is a multiple of kChannelDivisor.
  explicit SelfAttention(int64_t channels, const LayerStyle& style = {});

  // NCHW, height and width even; keeps its shape.
  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override;

 private:
  std::shared_ptr<Conv2d> theta_;
  std::shared_ptr<Conv2d> phi_;
  std::shared_ptr<Conv2d> g_;
  std::shared_ptr<Conv2d> o_;
  at::Tensor sigma_;
};

}  // namespace gandem
