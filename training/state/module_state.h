// SPDX-License-Identifier: Apache-2.0
//
// A network's state as bytes, for checkpoints and critics.
//
// Thread safety: the compute thread that owns the module.
// Errors: Status for invalid bytes; the module is then unchanged.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"
#include "common/shared_bytes.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// All lists are in order of registration.
TensorsByName ParametersOf(const torch::nn::Module& module);
// Return the parameters that require a gradient, and those that do not
// (training/optimizers/freeze_parameters.h).
TensorsByName TrainedParametersOf(const torch::nn::Module& module);
TensorsByName FrozenParametersOf(const torch::nn::Module& module);
TensorsByName BuffersOf(const torch::nn::Module& module);
// Returns parameters, then buffers.
TensorsByName StateOf(const torch::nn::Module& module);
int64_t BytesOf(const TensorsByName& tensors);

// Concatenates all state in the order of StateOf, each tensor contiguous.
SharedBytes PackModule(const torch::nn::Module& module);
//   INVALID_ARGUMENT  the size is not that of this network's state.
absl::Status UnpackModule(const SharedBytes& bytes, torch::nn::Module& module);

// Appends copies on the CPU, named prefix + name.
void AppendTensors(const std::string& prefix, const TensorsByName& tensors,
                   std::vector<NamedTensor>& out);

// Shares the memory of `host`, which must be contiguous and on the CPU.
NamedTensor ViewAsNamed(std::string name, const at::Tensor& host);

// Returns Torch's type for a floating-point DType; nullopt for other types.
std::optional<at::ScalarType> FloatingTypeOf(DType dtype);

// Returns a float32 copy on the CPU; nullopt unless floating-point.
std::optional<at::Tensor> FloatValuesOf(const NamedTensor& tensor);

// Returns whether all values are finite, in one pass.
bool IsFinite(const at::Tensor& values);

class TensorReader {
 public:
  explicit TensorReader(std::vector<NamedTensor> tensors);

  // Copies prefix + name into each tensor of `into`; converts scalars.
  //   INVALID_ARGUMENT  lists all tensors that are missing or have another
  //                     shape or type; nothing has changed.
  absl::Status Load(const std::string& prefix, const TensorsByName& into) const;
  // Returns all tensors whose names start with `prefix`, which is removed.
  std::vector<NamedTensor> WithPrefix(const std::string& prefix) const;

 private:
  std::map<std::string, NamedTensor> by_name_;
};

}  // namespace gandem
