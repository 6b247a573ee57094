// SPDX-License-Identifier: Apache-2.0
//
// Predicts the size of a run's checkpoints by evaluation_job, with LibTorch.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

// Returns the size in bytes. `scratch_folder` must exist; it holds a file
// during the call. The time limit is two minutes, because large networks take
// many seconds to make. Returns errors of EvaluationCommand, and
//   FAILED_PRECONDITION  evaluation_job cannot make the networks; quotes its
//       message
//   DEADLINE_EXCEEDED  evaluation_job has not answered
absl::StatusOr<int64_t> AskForCheckpointBytes(
    const RunConfig& config, const std::string& binary_folder,
    const std::string& scratch_folder);

}  // namespace gandem
