// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests of networks: configs, shapes, inputs and counts.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "common/config/data_shape.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem::testing {

inline NetworkConfig ParseNetwork(const std::string& text) {
  NetworkConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

inline DataShape SquareImages(int64_t channels, int64_t size) {
  return {.image = {.channels = channels, .height = size, .width = size}};
}

// Returns different numbers: sines of multiples of `step`, in float32 if `type`
// is an integer type.
inline at::Tensor Waves(at::IntArrayRef shape, double step,
                        at::ScalarType type = at::kLong) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return (torch::arange(count, type) * step).sin().view(shape);
}
// Returns Waves in float64.
inline at::Tensor Ramp(at::IntArrayRef shape, double step = 0.7) {
  return Waves(shape, step, at::kDouble);
}

// Returns the number of values in all parameters, which must be trainable.
inline int64_t CountParameters(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const at::Tensor& parameter : module.parameters()) {
    EXPECT_TRUE(parameter.requires_grad());
    count += parameter.numel();
  }
  return count;
}

// Returns the number of values in buffers whose name ends in `suffix`.
inline int64_t CountBuffers(const torch::nn::Module& module,
                            const std::string& suffix = "") {
  int64_t count = 0;
  for (const auto& item : module.named_buffers()) {
    if (item.key().ends_with(suffix)) count += item.value().numel();
  }
  return count;
}

}  // namespace gandem::testing
