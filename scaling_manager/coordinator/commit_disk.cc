// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/coordinator/commit_disk.h"

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {

absl::Status CommitDisk::Commit(const CheckpointCommits::Job& job) {
  GANDEM_RETURN_IF_ERROR(job.shards);
  CheckpointManifest manifest;
  manifest.set_step(job.step);
  manifest.set_run_epoch(job.run_epoch);
  manifest.set_config_hash(options_.config_hash);
  manifest.mutable_files()->Assign(job.files.begin(), job.files.end());
  return CommitCheckpoint(options_.run_dir, manifest);
}

CommitDisk::Result CommitDisk::Work(const CheckpointCommits::Job& job) {
  Result result = {.committed = Commit(job)};
  const auto note = [&result](const std::string& what,
                              const absl::Status& done) {
    if (!done.ok()) result.notes.push_back(absl::StrCat(what, done.message()));
  };
  if (!result.committed.ok()) {
    note("", RemoveAll(PendingCheckpointPath(options_.run_dir, job.step,
                                             job.run_epoch)));
    return result;
  }
  if (options_.snapshots.has_value()) {
    note("the checkpoint cannot be kept to be judged: ",
         options_.snapshots->KeepDue());
  }
  note("old checkpoints could not be removed: ",
       PruneCheckpoints(options_.run_dir, options_.keep_last,
                        options_.keep_every));
  return result;
}

}  // namespace gandem
