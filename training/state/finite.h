// SPDX-License-Identifier: Apache-2.0
//
// Numbers that have left the range of their type: a run that has diverged.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

namespace gandem {

// Whether all values are finite; one pass. Integers are.
bool IsFinite(const at::Tensor& values);

}  // namespace gandem
