// SPDX-License-Identifier: Apache-2.0
//
// Spectral normalization (Miyato et al. 2018, algorithm 1) of one weight: the
// layer uses W / sigma, where sigma = u . (W v) estimates W's largest singular
// value and passes its gradient to W only. Semantics are those of PyTorch's
// torch.nn.utils.spectral_norm with one power iteration.
//
//   kTrain     iterates u and v once and stores them
//   kFrozen    uses the stored u and v
//   kEvaluate  iterates once on copies: averaged vectors are no unit vectors
//
// All of it is in the type of the weight, under autocast too (autocast.h).
//
// Owner: the layer whose weight it is. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "models/network.h"

namespace gandem {

class SpectralNorm {
 public:
  struct Options {
    int64_t row_dim = 0;  // dimension of the weight that counts its outputs
    double eps = 1e-12;   // smallest norm that a vector is divided by
  };

  // Registers the buffers weight_u [rows] and weight_v [columns] in `owner`.
  // The buffers are constant unit vectors until the caller sets them.
  SpectralNorm(torch::nn::Module& owner, const at::Tensor& weight,
               Options options);

  at::Tensor Normalize(const at::Tensor& weight, ForwardMode mode);

  // Power iterations, stored. Random vectors need some before a frozen pass:
  // their sigma is near 0, of either sign.
  void Iterate(const at::Tensor& weight, int times);

 private:
  at::Tensor AsMatrix(const at::Tensor& weight) const;
  at::Tensor UnitVector(const at::Tensor& vector) const;

  const Options options_;
  at::Tensor u_;
  at::Tensor v_;
};

}  // namespace gandem
