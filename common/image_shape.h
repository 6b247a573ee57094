// SPDX-License-Identifier: Apache-2.0
//
// Shape of one image, channels first.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace gandem {

struct ImageShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  constexpr int64_t NumValues() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

}  // namespace gandem
