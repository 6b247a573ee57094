// SPDX-License-Identifier: Apache-2.0
//
// The batch script of a run: it coordinates on the job's first node, lets srun
// start each worker as a step of its own, and resumes what is there. What it
// relies on of Slurm (version 22.05) was measured: docs/operations.md.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "deploy/slurm/slurm_job.h"

namespace gandem {

// `text` as one word of a shell.
std::string ShellQuoted(absl::string_view text);

// The comment of the run's jobs, by which one is found again whose number
// nobody has kept.
std::string SlurmComment(absl::string_view run_dir);

// Readable, and clean to shellcheck. `job` has passed CheckSlurmJob.
std::string BatchScript(const SlurmJob& job);

}  // namespace gandem
