// SPDX-License-Identifier: Apache-2.0
//
// From an OptimizerConfig to an optimizer. A new family is a rule in this
// folder, a message in proto/config.proto and a case in make_optimizer.cc.
//
// Thread safety: the compute thread. Errors: below; Torch exceptions.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "training/optimizers/optimizer.h"
#include "training/tensors_by_name.h"

namespace gandem {

// Updates `parameters`, which must have their final type, device and memory
// layout. Without a family in `config` it is Adam with its defaults.
//   INVALID_ARGUMENT  lists every option that is out of range.
absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(
    const OptimizerConfig& config, const TensorsByName& parameters);

}  // namespace gandem
