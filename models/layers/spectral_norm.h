// SPDX-License-Identifier: Apache-2.0
//
// Spectral normalization (Miyato et al. 2018, algorithm 1) of one weight. The
// layer uses W / sigma, where sigma = u . (W v) estimates W's largest singular
// value and passes its gradient only to W. Equivalent to PyTorch's
// torch.nn.utils.spectral_norm with one power iteration.
//
//   kTrain     iterates u and v once and stores them
//   kFrozen    uses the stored u and v
//   kEvaluate  iterates once on copies, since averaged vectors have no unit
//              length
//
// Computes in the type of the weight, also under autocast (autocast.h).
//
// Owner: the layer of the weight. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "models/network.h"

namespace gandem {

class SpectralNorm {
 public:
  struct Options {
    int64_t row_dim = 0;  // output dimension of the weight
    double eps = 1e-12;   // minimum norm to divide by
  };

  // Registers the buffers weight_u [rows] and weight_v [columns] in `owner`,
  // initially constant unit vectors.
  SpectralNorm(torch::nn::Module& owner, const at::Tensor& weight,
               Options options);

  at::Tensor Normalize(const at::Tensor& weight, ForwardMode mode);

  // Stores the result of power iterations. Needed between random vectors and a
  // frozen pass: sigma of random vectors is near 0 and may be negative.
  void Iterate(const at::Tensor& weight, int times);

 private:
  at::Tensor AsMatrix(const at::Tensor& weight) const;
  at::Tensor UnitVector(const at::Tensor& vector) const;

  const Options options_;
  at::Tensor u_;
  at::Tensor v_;
};

}  // namespace gandem
