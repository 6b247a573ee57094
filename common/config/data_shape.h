// SPDX-License-Identifier: Apache-2.0
//
// Shape of a run's images and number of their classes.
//
// Owner: values; copy freely. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "common/image_shape.h"

namespace gandem {

struct DataShape {
  ImageShape image;
  int64_t num_classes = 0;  // 0: no labels

  bool operator==(const DataShape&) const = default;
};

}  // namespace gandem
