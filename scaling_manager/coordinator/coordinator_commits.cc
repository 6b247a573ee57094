// SPDX-License-Identifier: Apache-2.0
//
// The commits of checkpoints whose shards are all reported.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/status.h"
#include "scaling_manager/coordinator/coordinator.h"

namespace gandem {

void Coordinator::CommitAll() {
  while (true) {
    std::optional<CheckpointCommits::Job> job;
    {
      absl::MutexLock lock(&mu_);
      job = commits_.Take();
      if (job.has_value()) job->rollbacks = counters_.rollbacks();
    }
    if (!job.has_value()) return;
    DiskResult result;
    {
      absl::MutexLock lock(&disk_mu_);
      result = WorkOnDisk(*job);
    }
    absl::MutexLock lock(&mu_);
    Settle(*job, result);
  }
}

Coordinator::DiskResult Coordinator::WorkOnDisk(
    const CheckpointCommits::Job& job) {
  DiskResult result = {.committed = Commit(job)};
  const auto note = [&result](const std::string& what,
                              const absl::Status& done) {
    if (!done.ok()) result.notes.push_back(absl::StrCat(what, done.message()));
  };
  if (!result.committed.ok()) {
    note("", RemoveAll(PendingCheckpointPath(options_.run_dir, job.step,
                                             job.run_epoch)));
    return result;
  }
  if (snapshots_.has_value()) {
    note("the checkpoint cannot be kept to be judged: ", snapshots_->KeepDue());
  }
  const absl::StatusOr<std::vector<std::string>> damaged =
      pruner_.Prune(job.step);
  note("old checkpoints could not be removed: ", damaged.status());
  if (!damaged.ok()) return result;
  for (const std::string& checkpoint : *damaged) {
    result.notes.push_back(absl::StrCat(
        "a damaged checkpoint was found, older ones are kept: ", checkpoint));
  }
  return result;
}

absl::Status Coordinator::Commit(const CheckpointCommits::Job& job) const {
  GANDEM_RETURN_IF_ERROR(job.shards);
  CheckpointManifest manifest;
  manifest.set_step(job.step);
  manifest.set_run_epoch(job.run_epoch);
  manifest.set_config_hash(options_.config_hash);
  manifest.set_rollbacks(job.rollbacks);
  manifest.mutable_files()->Assign(job.files.begin(), job.files.end());
  return CommitCheckpoint(options_.run_dir, manifest);
}

void Coordinator::Settle(const CheckpointCommits::Job& job,
                         const DiskResult& result) {
  const std::string text = commits_.Settle(job, result.committed);
  if (result.committed.ok()) {
    AddEvent(text);
  } else {
    stopping_.NoteFailure(text);
    AddEvent(absl::StrCat(text, ". ", commits_.NewestText()));
  }
  for (const std::string& note : result.notes) AddEvent(note);
  Advance();
  if (commits_.is_busy()) return;
  for (const auto& [key, death] : std::exchange(deaths_, {})) {
    HandleDeath(*members_.Find(key), death);
  }
}

}  // namespace gandem
