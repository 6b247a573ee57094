// SPDX-License-Identifier: Apache-2.0
//
// Predicts the size of a run's checkpoints. Builds the networks, so that the
// prediction is right for every family and optimizer.
//
// Thread safety: one compute thread.
// Errors: those of making a network or an optimizer; Torch exceptions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

// Bytes of both roles' tensors: networks, the generator's average, optimizers
// and older critics. File headers and the state of objectives, some kilobytes,
// are left out. `config` is valid (common/config/run_config.h).
absl::StatusOr<int64_t> PredictCheckpointBytes(const RunConfig& config);

}  // namespace gandem
