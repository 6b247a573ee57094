// SPDX-License-Identifier: Apache-2.0
//
// Numbers as the bytes of a NamedTensor. Thread safety: a pure function.
#pragma once

#include <span>
#include <vector>

#include "common/shared_bytes.h"

namespace gandem::testing {

template <typename T>
SharedBytes BytesOf(const std::vector<T>& values) {
  return SharedBytes::Copy(std::as_bytes(std::span(values)));
}

}  // namespace gandem::testing
