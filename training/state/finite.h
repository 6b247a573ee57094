// SPDX-License-Identifier: Apache-2.0
//
// Numbers that have left the range of their type: a run that has diverged.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "absl/status/status.h"
#include "common/checkpoint/safetensors.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// Whether all values are finite; one pass. Integers are.
bool IsFinite(const at::Tensor& values);

// Is there a value that is not finite? Null, or the first tensor with one.
const NamedTensor* FindInfinite(std::span<const NamedTensor> tensors);

}  // namespace gandem
