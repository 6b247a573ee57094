// SPDX-License-Identifier: Apache-2.0
//
// Slurm's own programs, which are asked as a person would ask them.
//
// Owner: the command that asks. Thread safety: one thread.
// Errors: NOT_FOUND where Slurm's programs are not installed; UNAVAILABLE where
// slurmctld does not answer within a minute; else INVALID_ARGUMENT with the
// program's words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "deploy/slurm/job_state.h"

namespace gandem {

class SlurmTools {
 public:
  // Returns the job's number. Deadline: a minute, as for the others.
  absl::StatusOr<int64_t> Submit(const std::string& script);
  absl::StatusOr<SlurmJobState> JobState(int64_t job);
  // The user's newest job with this comment that is not over, if there is one.
  absl::StatusOr<std::optional<int64_t>> FindJob(const std::string& comment);
};

}  // namespace gandem
