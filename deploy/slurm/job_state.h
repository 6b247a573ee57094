// SPDX-License-Identifier: Apache-2.0
//
// What scontrol says of a job.
//
// Thread safety: pure functions. Errors: INVALID_ARGUMENT, with the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct SlurmJobState {
  std::string state = {};   // "PENDING", "RUNNING", "COMPLETED" ...
  std::string reason = {};  // why it waits, "Resources"; else "None"
  int64_t restarts = 0;
  int exit_code = 0;      // of the script; 128 + n for signal n
  std::string node = {};  // where the script runs or ran; empty: not known

  // It will not run again.
  bool is_over() const;
};

// A line of `scontrol --oneliner show job`; of a heterogeneous job the first,
// which is that of its script.
absl::StatusOr<SlurmJobState> ParseSlurmJobState(absl::string_view text);

// The job's number in what `sbatch --parsable` prints: "17" or "17;cluster".
absl::StatusOr<int64_t> ParseSlurmJobId(absl::string_view text);

// The newest job with this comment in what `squeue --format="%i %k"` prints:
// "17 gandem:/nfs/a", of a heterogeneous job "17+0 gandem:/nfs/a". None: there
// is no such job.
std::optional<int64_t> FindSlurmJob(absl::string_view queue,
                                    absl::string_view comment);

}  // namespace gandem
