// SPDX-License-Identifier: Apache-2.0
#include "models/layers/dropout.h"

#include <cmath>

#include "models/torch.h"

namespace gandem {

Dropout::Dropout(double rate) : DrawingLayer("mask_key"), rate_(rate) {}

at::Tensor Dropout::ForwardGiven(const at::Tensor& input,
                                 const at::Tensor& place, ForwardMode mode) {
  if (rate_ == 0 || mode == ForwardMode::kEvaluate) return input;
  return input * DrawMask(input, place);
}

at::Tensor Dropout::DrawMask(const at::Tensor& input,
                             const at::Tensor& place) const {
  at::Tensor mask = torch::empty(input.sizes(), torch::kFloat32);
  const int64_t rows = input.size(0);
  const int64_t row_size = rows == 0 ? 0 : mask.numel() / rows;
  const auto dropped = static_cast<uint32_t>(std::ldexp(rate_, 32));
  const auto kept = static_cast<float>(1 / (1 - rate_));
  float* out = mask.mutable_data_ptr<float>();
  for (int64_t row = 0; row < rows; ++row) {
    PhiloxStream stream = StreamOf(place, row);
    for (int64_t i = 0; i < row_size; ++i) {
      *out++ = stream.NextUint32() < dropped ? 0 : kept;
    }
  }
  return mask.to(input.device(), input.scalar_type());
}

}  // namespace gandem
