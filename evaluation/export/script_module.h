// SPDX-License-Identifier: Apache-2.0
//
// A generator as a TorchScript file, which plain `torch.jit.load` reads without
// gandem: LibTorch's tracer records an evaluation pass (ForwardMode::kEvaluate)
// together with the parameters and buffers that it reads, under the names of
// the network's modules. Inputs are noise [N, Z], labels int64 [N] and images
// [N, C, H, W] in this order, as far as the pass reads them. The output is
// images [N, C, H, W] in (-1, 1). N may be any number.
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Status; Torch exceptions.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "models/network.h"

namespace gandem {

// Inputs of a generator. A tensor that it does not take is undefined.
struct GeneratorInputs {
  at::Tensor noise_NZ = {};
  Condition condition = {};
};

// Returns the first `count` elements of a fixed sequence of inputs.
using GeneratorInputsOf =
    absl::FunctionRef<absl::StatusOr<GeneratorInputs>(int64_t count)>;

struct ScriptModule {
  std::string bytes;                   // content of the file
  std::vector<std::string> arguments;  // names of forward's inputs
};

// Records a pass over two images, reads it back, and compares its output for 1,
// 3 and 5 images with that of the network.
//   INTERNAL  the outputs differ: the recorded pass is for two images only.
absl::StatusOr<ScriptModule> MakeScriptModule(Generator& network,
                                              GeneratorInputsOf inputs_of);

}  // namespace gandem
