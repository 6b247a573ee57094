// SPDX-License-Identifier: Apache-2.0
//
// Calls of Slurm's own command-line programs. Each call takes a minute at most.
//
// Thread safety: any thread.
// Errors: NOT_FOUND if Slurm's programs are not installed; UNAVAILABLE if
// slurmctld does not answer within a minute; otherwise INVALID_ARGUMENT with
// the program's message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace gandem {

// Returns the job's number.
absl::StatusOr<int64_t> SubmitSlurmJob(const std::string& script);

// The user's newest job with this comment that is not over, if there is one.
absl::StatusOr<std::optional<int64_t>> FindSlurmJob(const std::string& comment);

}  // namespace gandem
