// SPDX-License-Identifier: Apache-2.0
//
// Whether a run folder can hold a run: it is written, synced and renamed in as
// checkpoints are, it has room for them, its secrets are private, and the
// user's own certificates last as long as the run.
//
// Owner: `gandem doctor`. Thread safety: any thread. What is written is
// removed again.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control_plane/doctor/finding.h"
#include "proto/config.pb.h"

namespace gandem {

inline constexpr char kRunFolderCheck[] = "run folder";

// Writes as checkpoints are written. Makes the folder if there is none.
Finding CheckRunFolder(const std::string& run_dir);

// Bytes of the run's newest checkpoint; 0: there is none.
int64_t CheckpointBytes(const std::string& run_dir);

// What a checkpoint takes, or why nobody knows.
struct CheckpointSize {
  absl::StatusOr<int64_t> bytes = 0;
  bool is_predicted = false;  // there is none yet
};
// For the checkpoints that are kept and the one that is being written.
Finding CheckDisk(const RunConfig& config, const CheckpointSize& checkpoint,
                  int64_t free_bytes);
// Free in the folder, for this user; 0: not known.
int64_t FreeDisk(const std::string& folder);

// The token and the certificates of a run are made by the first `gandem train`.
Finding CheckSecrets(const std::string& run_dir);

// The user's own; `path` is as Certificates::Load takes it. `needed`: how long
// the run will take; zero: not known.
Finding CheckCertificates(const std::string& path, absl::Duration needed,
                          absl::Time now);

}  // namespace gandem
