// SPDX-License-Identifier: Apache-2.0
//
// Guarantees of every reader of tensors. Thread safety: pure functions.
#pragma once

#include <algorithm>

#include "common/check.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

// Checks that the bytes match shape and type, and are aligned to the elements.
inline void CheckTensor(const NamedTensor& tensor) {
  int64_t bytes = BytesPerElement(tensor.dtype);
  for (const int64_t size : tensor.shape) {
    GANDEM_CHECK(size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes));
  }
  GANDEM_CHECK(static_cast<int64_t>(tensor.bytes.size()) == bytes);
  GANDEM_CHECK(reinterpret_cast<uintptr_t>(tensor.bytes.data()) %
                   static_cast<uintptr_t>(BytesPerElement(tensor.dtype)) ==
               0);
}

inline void CheckSame(const NamedTensor& a, const NamedTensor& b) {
  GANDEM_CHECK(a.name == b.name && a.dtype == b.dtype && a.shape == b.shape);
  GANDEM_CHECK(std::ranges::equal(a.bytes.span(), b.bytes.span()));
}

}  // namespace gandem
