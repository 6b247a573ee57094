// SPDX-License-Identifier: Apache-2.0
//
// A generator as a TorchScript file, which plain `torch.jit.load` reads without
// gandem: LibTorch's tracer records an evaluation pass (ForwardMode::kEvaluate)
// together with the parameters and buffers that it reads, under the names of
// the network's modules. Inputs are those that the pass reads of noise [N, Z],
// labels int64 [N] and images [N, C, H, W], in this order and with these names;
// the output is images [N, C, H, W] in (-1, 1). N may be any number.
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

// What a generator is given: undefined is what it does not take.
struct GeneratorInputs {
  at::Tensor noise_NZ = {};
  Condition condition = {};
};

// The first `count` of a sequence of inputs that never changes.
using GeneratorInputsOf =
    absl::FunctionRef<absl::StatusOr<GeneratorInputs>(int64_t count)>;

struct ScriptModule {
  std::string bytes;                   // of the file
  std::vector<std::string> arguments;  // names of forward's inputs
};

// Records a pass over two images, reads the file's bytes back and compares its
// images of one, three and five with the network's.
//   INTERNAL  they differ: the recorded pass holds for two images only.
absl::StatusOr<ScriptModule> MakeScriptModule(Generator& network,
                                              GeneratorInputsOf inputs_of);

}  // namespace gandem
