// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints on disk (design.md section 8):
//   run_dir/checkpoints/step-000000500/        complete
//   run_dir/checkpoints/step-000000500.3.tmp/  being written in run epoch 3
// A checkpoint exists from the moment that its folder is renamed. A crash at
// any time leaves the older ones as they were; readers ignore all *.tmp.
//
// Owner: the coordinator commits, prunes (checkpoint_pruner.h) and removes;
// workers write shards into the pending folder and read. Thread safety: any
// thread; one process at a time changes a run folder. Errors: those of file.h;
// a full disk is RESOURCE_EXHAUSTED.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"

namespace gandem {

inline constexpr char kManifestName[] = "manifest.textproto";

// Folder in which the shards of a checkpoint are written; the first writer
// creates it.
std::string PendingCheckpointPath(const std::string& run_dir, int64_t step,
                                  int64_t run_epoch);
// Its name in the run folder.
std::string PendingCheckpointName(int64_t step, int64_t run_epoch);
std::string CheckpointPath(const std::string& run_dir, int64_t step);

// Worth another try: a disk that is full, or read-only as one is whose mount
// was lost for a while.
inline bool DiskMayRecover(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsPermissionDenied(status);
}

// Turns the pending folder of manifest.step and manifest.run_epoch into a
// checkpoint. All shards have been written and fsynced; the manifest lists
// them. Returns when nothing can undo it. When it fails, the pending folder is
// removed, unless DiskMayRecover: the caller tries again then, or removes it. A
// complete checkpoint of the same step and config stays in place of the new
// one: a run that stops right after it resumed makes the same state.
//   INVALID_ARGUMENT  the manifest lists no file, or a name that is no plain
//                     one, is the manifest's or stands twice.
//   DATA_LOSS         a listed file is not there or has another size.
absl::Status CommitCheckpoint(const std::string& run_dir,
                              const CheckpointManifest& manifest);

// Steps of all checkpoints, complete or not, newest first; none where there is
// no such folder.
absl::StatusOr<std::vector<int64_t>> ListCheckpoints(
    const std::string& run_dir);

// Makes run_dir/checkpoints/last-good a link to the newest checkpoint of
// `max_step` rounds or fewer. Returns its step.
//   NOT_FOUND  there is none; an older link is removed.
absl::StatusOr<int64_t> MarkLastGood(const std::string& run_dir,
                                     int64_t max_step);

struct FoundCheckpoint {
  std::string path;
  int64_t step = 0;
  CheckpointManifest manifest;
  // Newer ones that are not complete: "path: why". Tell the user.
  std::vector<std::string> skipped_with_reason;
};

// The newest checkpoint whose files all have the manifest's sizes and CRCs.
//   NOT_FOUND  there is none.
//   DATA_LOSS  there are some and none is complete; lists why.
absl::StatusOr<FoundCheckpoint> FindNewestCheckpoint(
    const std::string& run_dir);

// The manifest of the folder, once every file was read and compared with it.
//   DATA_LOSS  the first thing that does not fit.
absl::StatusOr<CheckpointManifest> VerifyCheckpoint(const std::string& path);

// Whether all files are there, with the sizes that the manifest says. Reads
// none of their bytes: quick enough to be asked of every checkpoint.
//   DATA_LOSS  the first thing that does not fit.
absl::Status CheckSizes(const std::string& path);

// The manifest of the folder; the files that it lists are not looked at.
//   DATA_LOSS  there is none, or it makes no sense.
absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& path);

// Removes a checkpoint; readers never see a half-removed one.
absl::Status RemoveCheckpoint(const std::string& run_dir, int64_t step);

// Makes folder/step-N, the same checkpoint as `path` and safe from pruning: its
// files are hard links (copies where the file system has none). Returns it when
// a crash cannot undo it, so that `path` may go. Nothing changes when it is
// there.
//   NOT_FOUND  `path` is no checkpoint, or was pruned meanwhile.
absl::StatusOr<std::string> KeepCheckpoint(const std::string& path,
                                           const std::string& folder);

// Removes what crashed processes left. Only while no worker writes.
absl::Status RemovePending(const std::string& run_dir);

}  // namespace gandem
