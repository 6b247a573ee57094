// SPDX-License-Identifier: Apache-2.0
//
// Calls the command-line programs of Slurm. A call takes at most a minute.
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

// Submits a script and returns the number of the job.
absl::StatusOr<int64_t> SubmitSlurmJob(const std::string& script);

// Returns the user's newest unfinished job with this comment, if there is one.
absl::StatusOr<std::optional<int64_t>> FindSlurmJob(const std::string& comment);

}  // namespace gandem
