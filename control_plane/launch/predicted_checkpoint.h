// SPDX-License-Identifier: Apache-2.0
//
// How large a run's checkpoints will be, before there is one. Counting takes
// the networks, and so LibTorch: evaluation_job is asked.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

// Bytes. `scratch_folder`, which is there, has a file meanwhile. Deadline: two
// minutes, because large networks take many seconds to make.
//   FAILED_PRECONDITION  evaluation_job cannot make the networks; has its
//   words. DEADLINE_EXCEEDED    it has not answered. those of
//   EvaluationCommand.
absl::StatusOr<int64_t> AskForCheckpointBytes(
    const RunConfig& config, const std::string& binary_folder,
    const std::string& scratch_folder);

}  // namespace gandem
