// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/checkpoint_disk.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr size_t kShownTensors = 3;

// Example: "'model.a', 'model.b' and 'model.c' and 4 more".
std::string TensorsText(const absl::StatusOr<std::vector<std::string>>& names) {
  if (!names.ok() || names->empty()) return "tensors that cannot be told";
  const auto shown =
      std::span(*names).first(std::min(names->size(), kShownTensors));
  const size_t rest = names->size() - shown.size();
  return absl::StrCat("'", absl::StrJoin(shown, "', '"), "'",
                      rest > 0 ? absl::StrCat(" and ", rest, " more") : "");
}

}  // namespace

CheckpointDisk::CheckpointDisk(CheckpointPruner::Options options,
                               int64_t evaluate_every, int64_t rounds)
    : run_dir_(options.run_dir), pruner_(std::move(options)) {
  if (evaluate_every > 0) {
    snapshots_.emplace(run_dir_, evaluate_every, rounds);
  }
}

absl::Status CheckpointDisk::Commit(const CheckpointCommits::Job& job,
                                    CheckpointManifest manifest) {
  absl::MutexLock lock(&mu_);
  if (job.parting.has_value()) {
    const std::string folder =
        PendingCheckpointPath(run_dir_, job.step, job.run_epoch);
    return absl::DataLossError(absl::StrCat(
        job.shards.message(), " after round ", job.step - 1, " in ",
        TensorsText(DifferingTensors(folder, job.parting->files))));
  }
  GANDEM_RETURN_IF_ERROR(job.shards);
  manifest.set_step(job.step);
  manifest.set_run_epoch(job.run_epoch);
  manifest.mutable_files()->Assign(job.files.begin(), job.files.end());
  return CommitCheckpoint(run_dir_, manifest);
}

std::vector<std::string> CheckpointDisk::TidyUp(
    const CheckpointCommits::Job& job, const absl::Status& committed) {
  absl::MutexLock lock(&mu_);
  std::vector<std::string> notes;
  const auto note = [&notes](const std::string& what,
                             const absl::Status& done) {
    if (!done.ok()) notes.push_back(absl::StrCat(what, done.message()));
  };
  if (!committed.ok()) {  // free the space of a failed commit
    note("",
         RemoveAll(PendingCheckpointPath(run_dir_, job.step, job.run_epoch)));
    return notes;
  }
  if (snapshots_.has_value()) {
    note("the checkpoint cannot be kept to be evaluated: ",
         snapshots_->KeepDue(job.step));
  }
  const absl::StatusOr<std::vector<std::string>> damaged =
      pruner_.Prune(job.step);
  note("old checkpoints could not be removed: ", damaged.status());
  if (!damaged.ok()) return notes;
  for (const std::string& checkpoint : *damaged) {
    notes.push_back(absl::StrCat(
        "a damaged checkpoint was found, older ones are kept: ", checkpoint));
  }
  return notes;
}

}  // namespace gandem
