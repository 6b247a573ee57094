// SPDX-License-Identifier: Apache-2.0
//
// Predicts the size of a run's checkpoints by building the networks.
//
// Thread safety: one compute thread.
// Errors: those of making a network or an optimizer; Torch exceptions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

// Returns the bytes of both roles' tensors: networks, the generator's average,
// optimizers and older critics. Omits some kilobytes of file headers and
// objective state. `config` must be valid (common/config/run_config.h).
absl::StatusOr<int64_t> PredictCheckpointBytes(const RunConfig& config);

}  // namespace gandem
