// SPDX-License-Identifier: Apache-2.0
//
// Checks that a run folder can hold a run: files can be written, synced and
// renamed as for a checkpoint, it has room for the checkpoints, and its secrets
// are private.
//
// Owner: `gandem doctor`. Thread safety: any thread. The checks remove their
// files.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "control_plane/doctor/finding.h"
#include "proto/config.pb.h"

namespace gandem {

inline constexpr char kRunFolderCheck[] = "run folder";

// Writes as a checkpoint is written. Creates the folder if there is none.
Finding CheckRunFolder(const std::string& run_dir);

// Bytes of the run's newest checkpoint; 0: there is none.
int64_t CheckpointBytes(const std::string& run_dir);

// Checks for room for the kept checkpoints and the one that is being written.
// `checkpoint_bytes`: size of one; 0: unknown.
Finding CheckDisk(const RunConfig& config, int64_t checkpoint_bytes,
                  int64_t free_bytes);

// Checks the token in `token_file` and the user's `certificates`. Empty: the
// run's, which the first `gandem train` creates.
Finding CheckSecrets(const std::string& token_file,
                     const std::string& certificates);

}  // namespace gandem
