// SPDX-License-Identifier: Apache-2.0
//
// Features for tests: standard normal, a pure function of (seed, row, column).
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "common/philox.h"
#include "models/torch.h"

namespace gandem::testing {

inline at::Tensor RandomNormal(int64_t rows, int64_t dim, uint64_t seed) {
  at::Tensor features_ND = torch::empty({rows, dim}, at::kDouble);
  auto* value = features_ND.mutable_data_ptr<double>();
  for (int64_t row = 0; row < rows; ++row) {
    PhiloxStream stream(seed, Purpose::kInit, 0, static_cast<uint64_t>(row));
    for (int64_t i = 0; i < dim; ++i) *value++ = stream.NextNormal();
  }
  return features_ND;
}

// Rows and columns are orthonormal.
inline at::Tensor RandomRotation(int64_t dim, uint64_t seed) {
  return std::get<0>(at::linalg_qr(RandomNormal(dim, dim, seed)));
}

}  // namespace gandem::testing
