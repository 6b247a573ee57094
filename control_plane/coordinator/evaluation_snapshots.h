// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of a run that wait to be judged, in RUN/evaluation/snapshots:
// hard links, safe from pruning. The training keeps what is due before it
// prunes, and the watcher keeps what it finds; both by the same rule.
//
// Owner: the coordinator, and `gandem watch-eval`. Thread safety: one thread.
// Errors: those of common/files/file.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "control_plane/coordinator/evaluation_queue.h"

namespace gandem {

class EvaluationSnapshots {
 public:
  // Every `every` rounds of `rounds` (evaluation_queue.h). Looks at the cards
  // that the run has.
  EvaluationSnapshots(const std::string& run_dir, int64_t every,
                      int64_t rounds);

  // Keeps the run's checkpoints that are due and puts them, and those that were
  // kept before, into the queue. `committed`: the only one that is new since
  // the last call, so that the others need not be listed again.
  absl::Status KeepDue(std::optional<int64_t> committed = {});

  // What KeepDue() by another `every` has left.
  absl::Status RemoveStale();

  EvaluationQueue& queue() { return queue_; }
  std::string PathOf(int64_t step) const;
  // It was judged, or given up.
  absl::Status Remove(int64_t step);

 private:
  std::vector<int64_t> ListKept() const;

  const std::string run_dir_;
  const std::string folder_;
  EvaluationQueue queue_;
  bool all_are_kept_ = false;  // of those that were due at the last call
};

}  // namespace gandem
