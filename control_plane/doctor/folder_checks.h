// SPDX-License-Identifier: Apache-2.0
//
// Checks of a run folder: files can be written, synced and renamed as for a
// checkpoint, the checkpoints fit on the disk, and the secrets are private.
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

// Checks that checkpoints can be written. Creates the folder if it is missing.
Finding CheckRunFolder(const std::string& run_dir);

// Returns the bytes of the run's newest checkpoint, or 0 if there is none.
int64_t CheckpointBytes(const std::string& run_dir);

// Checks that the disk has room for the kept checkpoints and an unfinished one.
// `checkpoint_bytes`: size of a checkpoint; 0: unknown.
Finding CheckDisk(const RunConfig& config, int64_t checkpoint_bytes,
                  int64_t free_bytes);

// Checks the token in `token_file` and the user's `certificates` (empty: those
// of the run, which the first `gandem train` creates).
Finding CheckSecrets(const std::string& token_file,
                     const std::string& certificates);

}  // namespace gandem
