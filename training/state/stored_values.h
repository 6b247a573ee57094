// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a file as Torch's.
//
// Owner: values. Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "common/checkpoint/safetensors.h"

namespace gandem {

// Torch's type of floating-point numbers; none: they are not.
std::optional<at::ScalarType> FloatingTypeOf(DType dtype);

// A copy of its floating-point numbers as float32, by its shape, on the CPU;
// none: they are not such.
std::optional<at::Tensor> FloatValuesOf(const NamedTensor& tensor);

}  // namespace gandem
