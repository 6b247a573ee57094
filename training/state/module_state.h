// SPDX-License-Identifier: Apache-2.0
//
// Parameters and buffers of a network as bytes: critics on their way to the
// generator, and tensors of a checkpoint.
//
// Thread safety: none; call from the compute thread that owns the module.
// Errors: Status for bytes from outside, which then changed nothing.
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

// In order of registration.
TensorsByName ParametersOf(const torch::nn::Module& module);
// Those of them that are trained, and that are frozen: by whether they want a
// gradient (training/optimizers/freeze_parameters.h).
TensorsByName TrainedParametersOf(const torch::nn::Module& module);
TensorsByName FrozenParametersOf(const torch::nn::Module& module);
TensorsByName BuffersOf(const torch::nn::Module& module);
// Parameters, then buffers, in order of registration.
TensorsByName StateOf(const torch::nn::Module& module);
int64_t BytesOf(const TensorsByName& tensors);

// All state, tensor after tensor, each contiguous.
SharedBytes PackModule(const torch::nn::Module& module);
//   INVALID_ARGUMENT  the size is not that of this network's state.
absl::Status UnpackModule(const SharedBytes& bytes, torch::nn::Module& module);

// Copies on the CPU, named prefix + name.
void AppendTensors(const std::string& prefix, const TensorsByName& tensors,
                   std::vector<NamedTensor>& out);

// The same without a copy: `host` is contiguous and on the CPU.
NamedTensor ViewAsNamed(std::string name, const at::Tensor& host);

// Torch's type of floating-point numbers; none: they are not.
std::optional<at::ScalarType> FloatingTypeOf(DType dtype);

// A copy of its floating-point numbers as float32, by its shape, on the CPU;
// none: they are not such.
std::optional<at::Tensor> FloatValuesOf(const NamedTensor& tensor);

// Whether all values are finite; one pass. Integers are.
bool IsFinite(const at::Tensor& values);

// Reads tensors by name. Every function lists what is missing or misshapen.
class TensorReader {
 public:
  explicit TensorReader(std::vector<NamedTensor> tensors);

  // Copies prefix + name into each of `into`; the type of single numbers is
  // converted.
  //   INVALID_ARGUMENT  a name is missing, or its shape or type differs.
  absl::Status Load(const std::string& prefix, const TensorsByName& into) const;
  // All whose names start with `prefix`, without it.
  std::vector<NamedTensor> WithPrefix(const std::string& prefix) const;

 private:
  std::map<std::string, NamedTensor> by_name_;
};

}  // namespace gandem
