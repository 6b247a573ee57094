// SPDX-License-Identifier: Apache-2.0
#include "models/layers/spectral_norm.h"

#include <cmath>

#include "models/autocast.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Returns the initial vector, not 0, since frozen passes divide by sigma.
at::Tensor ConstantUnitVector(int64_t size) {
  return torch::full({size}, 1.0 / std::sqrt(static_cast<double>(size)));
}

}  // namespace

SpectralNorm::SpectralNorm(torch::nn::Module& owner, const at::Tensor& weight,
                           Options options)
    : options_(options) {
  const int64_t rows = weight.size(options_.row_dim);
  u_ = owner.register_buffer("weight_u", ConstantUnitVector(rows));
  v_ = owner.register_buffer("weight_v",
                             ConstantUnitVector(weight.numel() / rows));
}

at::Tensor SpectralNorm::Normalize(const at::Tensor& weight, ForwardMode mode) {
  // 16-bit vectors would not stay unit vectors (traps.md 3).
  const FullPrecision full_precision;
  const at::Tensor matrix = AsMatrix(weight);
  // Copies of the buffers: a later forward pass before this backward pass would
  // overwrite tensors saved by autograd (traps.md 3).
  at::Tensor u;
  at::Tensor v;
  {
    const torch::NoGradGuard no_grad;
    if (mode == ForwardMode::kFrozen) {
      u = u_.clone();
      v = v_.clone();
    } else {
      v = UnitVector(at::mv(matrix.t(), u_));
      u = UnitVector(at::mv(matrix, v));
    }
    if (mode == ForwardMode::kTrain) {
      u_.copy_(u);
      v_.copy_(v);
    }
  }
  return weight / at::dot(u, at::mv(matrix, v));
}

void SpectralNorm::Iterate(const at::Tensor& weight, int times) {
  const torch::NoGradGuard no_grad;
  const FullPrecision full_precision;
  const at::Tensor matrix = AsMatrix(weight);
  for (int i = 0; i < times; ++i) {
    v_.copy_(UnitVector(at::mv(matrix.t(), u_)));
    u_.copy_(UnitVector(at::mv(matrix, v_)));
  }
}

at::Tensor SpectralNorm::AsMatrix(const at::Tensor& weight) const {
  return weight.transpose(0, options_.row_dim).flatten(1);
}

at::Tensor SpectralNorm::UnitVector(const at::Tensor& vector) const {
  return vector / vector.norm().clamp_min(options_.eps);
}

}  // namespace gandem
