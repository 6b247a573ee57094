// SPDX-License-Identifier: Apache-2.0
//
// Whether a run folder can hold a run: it is written, synced and renamed in as
// checkpoints are, it has room for them, and its secrets are private.
//
// Owner: `gandem doctor`. Thread safety: any thread. What is written is
// removed again.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "control_plane/doctor/finding.h"
#include "proto/config.pb.h"

namespace gandem {

inline constexpr char kRunFolderCheck[] = "run folder";

// Writes as checkpoints are written. Makes the folder if there is none.
Finding CheckRunFolder(const std::string& run_dir);

// Bytes of the run's newest checkpoint; 0: there is none.
int64_t CheckpointBytes(const std::string& run_dir);

// For the checkpoints that are kept and the one that is being written.
// `checkpoint_bytes`: what one takes, or why nobody knows.
Finding CheckDisk(const RunConfig& config,
                  const absl::StatusOr<int64_t>& checkpoint_bytes,
                  int64_t free_bytes);

// The token in `token_file`, and the user's own `certificates`; empty: those of
// the run. The first `gandem train` makes the run's.
Finding CheckSecrets(const std::string& token_file,
                     const std::string& certificates);

}  // namespace gandem
