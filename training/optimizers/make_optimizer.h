// SPDX-License-Identifier: Apache-2.0
//
// Makes an optimizer from an OptimizerConfig. A new optimizer needs a message
// in proto/config.proto, a source in rules/ and a line in rules/families.h.
//
// Thread safety: the compute thread. Errors: Torch exceptions.
#pragma once

#include <cstdint>
#include <memory>

#include "proto/config.pb.h"
#include "training/optimizers/optimizer.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// Properties of the run that determine the learning rate.
struct OptimizerUse {
  int64_t rounds = 1;  // of the run
  int64_t steps_per_round = 1;
  int64_t batch_size = 64;  // images per update, over the whole fleet
  int64_t lazy_every = 0;   // see StepOfUpdate
};

// Makes the optimizer of `parameters`, which must have their final type, device
// and memory layout. The default family is Adam. `config` is valid, and its
// optimism_rule is FIXED (common/config/optimizer_validate.h).
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerConfig& config,
                                         const TensorsByName& parameters,
                                         const OptimizerUse& use);

}  // namespace gandem
