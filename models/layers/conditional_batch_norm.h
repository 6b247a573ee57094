// SPDX-License-Identifier: Apache-2.0
//
// Conditional batch norm (Dumoulin et al. 2017, "A learned representation for
// artistic style"; de Vries et al. 2017): batch norm without weight and bias,
// followed by
//   normalized * (1 + gain(c)) + bias(c)
// There are two forms of gain and bias:
// - a linear map, without biases, of the condition [N, A]: the one-hot label (A
//   classes), or BigGAN's label embedding and noise (Brock et al. 2019)
// - per_class: an embedding of the label [N], initially 0, so that the layer
//   starts as plain batch norm (authors' code of SNGAN and SAGAN)
//
// Tensors: bn.running_mean ..., gain.weight, bias.weight.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"
#include "models/layers/layer_style.h"

namespace gandem {

class ConditionalBatchNorm : public ConditionalLayer {
 public:
  // style.condition_dim is A or the number of classes, at least 1.
  ConditionalBatchNorm(int64_t num_features, const LayerStyle& style);

  // `condition` must be defined.
  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& condition,
                          ForwardMode mode) override;

 private:
  std::shared_ptr<BatchNorm> bn_;
  std::shared_ptr<Layer> gain_;
  std::shared_ptr<Layer> bias_;
};

}  // namespace gandem
