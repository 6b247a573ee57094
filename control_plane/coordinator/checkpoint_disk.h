// SPDX-License-Identifier: Apache-2.0
//
// Disk operations of the coordinator for checkpoints: commits complete
// checkpoints, links those that are due for evaluation, and prunes old ones.
//
// Owner: the coordinator, which does not hold its own lock during calls because
// disks may be slow. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/checkpoint/checkpoint_pruner.h"
#include "control_plane/coordinator/checkpoint_commits.h"
#include "control_plane/coordinator/evaluation_snapshots.h"
#include "proto/checkpoint.pb.h"

namespace gandem {

class CheckpointDisk {
 public:
  // `evaluate_every`: keeps a checkpoint for evaluation every that many rounds,
  // 0 keeps none (evaluation_snapshots.h). `rounds`: rounds of the run.
  CheckpointDisk(CheckpointPruner::Options options, int64_t evaluate_every,
                 int64_t rounds);

  // Commits the job's checkpoint. The caller fills `manifest` except for the
  // step, the epoch and the files. Returns the errors of CommitCheckpoint, or
  // the error because of which the job has to be given up.
  absl::Status Commit(const CheckpointCommits::Job& job,
                      CheckpointManifest manifest) ABSL_LOCKS_EXCLUDED(mu_);
  // Removes files that are no longer needed. `committed`: result of Commit().
  // Returns messages for the operator.
  std::vector<std::string> TidyUp(const CheckpointCommits::Job& job,
                                  const absl::Status& committed)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const std::string run_dir_;
  absl::Mutex mu_;
  std::optional<EvaluationSnapshots> snapshots_ ABSL_GUARDED_BY(mu_);
  CheckpointPruner pruner_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
