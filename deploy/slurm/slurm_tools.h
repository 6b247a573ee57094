// SPDX-License-Identifier: Apache-2.0
//
// Slurm's own programs, which are asked as a person would ask them. Each
// answers within a minute.
//
// Thread safety: any thread.
// Errors: NOT_FOUND where Slurm's programs are not installed; UNAVAILABLE where
// slurmctld does not answer within a minute; else INVALID_ARGUMENT with the
// program's words.
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
