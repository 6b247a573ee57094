// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's disk work for checkpoints: commits complete ones, links
// those that are due for evaluation, and prunes.
//
// Owner: the coordinator, which calls it without its own lock because a disk
// may be slow. Thread safety: any thread.
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
  // An `evaluate_every` above 0 keeps checkpoints that are due for evaluation
  // (evaluation_snapshots.h). `rounds`: length of the run.
  CheckpointDisk(CheckpointPruner::Options options, int64_t evaluate_every,
                 int64_t rounds);

  // `manifest` lacks only the step, the epoch and the files. Errors: those of
  // CommitCheckpoint, and the reason why the job is given up.
  absl::Status Commit(const CheckpointCommits::Job& job,
                      CheckpointManifest manifest) ABSL_LOCKS_EXCLUDED(mu_);
  // Removes files that are not needed any more, after the last try ended with
  // `committed`. Returns failures and findings for the operator.
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
