// SPDX-License-Identifier: Apache-2.0
#include "models/layers/drawing_layer.h"

#include <cmath>

#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Elements of a place as an int64 CPU tensor, which layers can pass on.
constexpr int64_t kPlaceSize = 3;

DrawPlace PlaceFrom(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  GANDEM_CHECK(tensor.numel() == kPlaceSize);
  const int64_t* const values = tensor.const_data_ptr<int64_t>();
  return {.purpose = static_cast<Purpose>(values[0]),
          .step = values[1],
          .first_index = values[2]};
}

}  // namespace

at::Tensor PlaceOf(const Condition& condition) {
  const DrawPlace& place = condition.place;
  const at::Tensor tensor = torch::empty({kPlaceSize}, at::kLong);
  int64_t* const values = tensor.mutable_data_ptr<int64_t>();
  values[0] = static_cast<int64_t>(place.purpose);
  values[1] = place.step;
  values[2] = place.first_index;
  return tensor;
}

DrawingLayer::DrawingLayer(const std::string& key_name)
    : key_(register_buffer(key_name, torch::zeros({}, torch::kInt64))) {}

PhiloxStream DrawingLayer::StreamOf(const at::Tensor& place,
                                    int64_t row) const {
  const DrawPlace at = PlaceFrom(place);
  return PhiloxStream(static_cast<uint64_t>(key_.item<int64_t>()) ^ salt_,
                      at.purpose, at.step, at.first_index + row);
}

// Keeps the key from being rounded.
void DrawingLayer::to(torch::Dtype dtype, bool non_blocking) {
  const at::Tensor key = key_.clone();
  Layer::to(dtype, non_blocking);
  key_.set_data(key);
}

void DrawingLayer::to(torch::Device device, torch::Dtype dtype,
                      bool non_blocking) {
  const at::Tensor key = key_.to(device, torch::kInt64,
                                 /*non_blocking=*/false, /*copy=*/true);
  Layer::to(device, dtype, non_blocking);
  key_.set_data(key);
}

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

void SaltDraws(torch::nn::Module& network, uint64_t salt) {
  for (const auto& module : network.modules()) {
    auto* const layer = dynamic_cast<DrawingLayer*>(module.get());
    if (layer != nullptr) layer->set_salt(salt);
  }
}

}  // namespace gandem
