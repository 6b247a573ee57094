// SPDX-License-Identifier: Apache-2.0
//
// The disk work of a checkpoint whose shards are all reported: the commit, what
// is kept to be judged, and pruning; or the removal of one that is given up.
//
// Owner: the coordinator, which holds no lock of its state meanwhile.
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "scaling_manager/coordinator/checkpoint_commits.h"
#include "scaling_manager/coordinator/evaluation_snapshots.h"

namespace gandem {

class CommitDisk {
 public:
  struct Options {
    std::string run_dir;  // required
    uint64_t config_hash = 0;
    int64_t keep_last = 2;
    int64_t keep_every = 0;
    std::optional<EvaluationSnapshots> snapshots = std::nullopt;
  };
  struct Result {
    absl::Status committed;
    // What failed beside it, for the operator.
    std::vector<std::string> notes = {};
  };

  explicit CommitDisk(Options options) : options_(std::move(options)) {}

  // When it is not committed, nothing of it is left.
  Result Work(const CheckpointCommits::Job& job);

 private:
  absl::Status Commit(const CheckpointCommits::Job& job);

  Options options_;
};

}  // namespace gandem
