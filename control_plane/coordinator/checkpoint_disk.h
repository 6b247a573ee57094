// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's work on the checkpoints of a run folder: it commits those
// whose shards are all reported, keeps what is to be evaluated, and prunes.
//
// Owner: the coordinator, which calls it without its own lock: a disk may be
// slow. Thread safety: any thread.
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
  // Above 0, `evaluate_every` keeps checkpoints that are due to be evaluated
  // before they may be pruned (evaluation_snapshots.h). `rounds`: of the run.
  CheckpointDisk(CheckpointPruner::Options options, int64_t evaluate_every,
                 int64_t rounds);

  // `manifest` is that of the checkpoint, without its step and files. Errors:
  // those of CommitCheckpoint, and why the job is given up.
  absl::Status Commit(const CheckpointCommits::Job& job,
                      CheckpointManifest manifest) ABSL_LOCKS_EXCLUDED(mu_);
  // Called after the last try, which ended with `committed`: removes what is
  // not needed any more. Returns failures and findings for the operator.
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
