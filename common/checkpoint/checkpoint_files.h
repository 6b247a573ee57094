// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints on disk (design.md section 8):
//   run_dir/checkpoints/step-000000500/        complete
//   run_dir/checkpoints/step-000000500.3.tmp/  being written in run epoch 3
// Renaming its folder completes a checkpoint. A crash never changes older
// checkpoints; readers ignore *.tmp.
//
// Owner: the coordinator commits, prunes (checkpoint_pruner.h) and removes;
// workers read, and write shards into the pending folder. Thread safety: any
// thread; one process at a time changes a run folder. Errors: those of file.h;
// RESOURCE_EXHAUSTED for a full disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"

namespace gandem {

inline constexpr char kManifestName[] = "manifest.textproto";

// Returns the folder of an incomplete checkpoint; the first writer creates it.
std::string PendingCheckpointPath(const std::string& run_dir, int64_t step,
                                  int64_t run_epoch);
// Returns the path of the pending folder relative to the run folder.
std::string PendingCheckpointName(int64_t step, int64_t run_epoch);
std::string CheckpointPath(const std::string& run_dir, int64_t step);

// Returns whether a retry may succeed: a full or read-only disk.
inline bool DiskMayRecover(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsPermissionDenied(status);
}

// Completes the pending checkpoint of manifest.step and manifest.run_epoch,
// durably. All listed shards must be written and synced. An error removes the
// pending folder unless DiskMayRecover, which leaves a retry or the removal to
// the caller. Keeps a complete checkpoint of this step and config, if any: a
// run that stops right after a resume writes the same state again.
//   INVALID_ARGUMENT  no files in the manifest, or a file name that is not
//                     plain, is the manifest's or is listed twice
//   DATA_LOSS         a listed file is missing or has another size
absl::Status CommitCheckpoint(const std::string& run_dir,
                              const CheckpointManifest& manifest);

// Returns the steps of all checkpoints, complete or not, newest first; empty if
// the folder does not exist.
absl::StatusOr<std::vector<int64_t>> ListCheckpoints(
    const std::string& run_dir);

// Links run_dir/checkpoints/last-good to the newest checkpoint of at most
// `max_step` rounds. Returns its step.
//   NOT_FOUND  no such checkpoint; an older link is removed
absl::StatusOr<int64_t> MarkLastGood(const std::string& run_dir,
                                     int64_t max_step);

struct FoundCheckpoint {
  std::string path;
  int64_t step = 0;
  CheckpointManifest manifest;
  // Newer incomplete checkpoints, "path: why". Show them to the user.
  std::vector<std::string> skipped_with_reason;
};

// Returns the newest checkpoint whose files have the right sizes and CRCs.
//   NOT_FOUND  there are no checkpoints
//   DATA_LOSS  no checkpoint is complete; lists why
absl::StatusOr<FoundCheckpoint> FindNewestCheckpoint(
    const std::string& run_dir);

// Reads all files, compares them with the manifest and returns the manifest.
//   DATA_LOSS  the first mismatch
absl::StatusOr<CheckpointManifest> VerifyCheckpoint(const std::string& path);

// Compares file sizes with the manifest; cheap, for every checkpoint.
//   DATA_LOSS  the first mismatch
absl::Status CheckSizes(const std::string& path);

// Reads the manifest without checking the files that it lists.
//   DATA_LOSS  missing or invalid
absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& path);

// Removes a checkpoint atomically for readers.
absl::Status RemoveCheckpoint(const std::string& run_dir, int64_t step);

// Copies the checkpoint `path` to folder/step-N, safe from pruning, with hard
// links (or copies where the file system has none). Returns the new path once
// it is durable. Does nothing if the copy exists.
//   NOT_FOUND  `path` is not a checkpoint, or was pruned meanwhile
absl::StatusOr<std::string> KeepCheckpoint(const std::string& path,
                                           const std::string& folder);

// Removes pending folders of crashed processes. No worker may be writing.
absl::Status RemovePending(const std::string& run_dir);

}  // namespace gandem
