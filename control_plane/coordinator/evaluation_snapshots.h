// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of a run that wait to be evaluated, in
// RUN/evaluation/snapshots: hard links, safe from pruning. The training keeps
// what is due before it prunes, and the watcher keeps what it finds; both by
// the same rule.
//
// Owner: the coordinator, and `gandem watch-eval`. Thread safety: one thread.
// Errors: those of common/files/file.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace gandem {

// Which checkpoints of a run are evaluated, and in which order: the first at or
// after each multiple of `every` rounds, and that of the last round. It knows
// no files and no processes.
class EvaluationQueue {
 public:
  // Tries of one checkpoint before it is given up.
  static constexpr int kTries = 3;

  // every >= 1; `rounds` of the whole run.
  EvaluationQueue(int64_t every, int64_t rounds)
      : every_(every), rounds_(rounds) {}

  // A card of this step is there, made in this way or in another: of its
  // multiple no later step is judged.
  void Know(int64_t step);

  // Those of `steps` (any order) that are to be judged and were not seen yet,
  // ascending. The caller keeps them, then calls Add for each that it got.
  std::set<int64_t> Due(std::span<const int64_t> steps) const;
  void Add(int64_t step);

  bool IsWaiting(int64_t step) const { return waiting_.contains(step); }
  // The oldest that waits; none: nothing to do.
  std::optional<int64_t> Next() const;
  // Next() was judged, or is not to be tried again.
  void Finish(int64_t step);
  // Next() failed for a reason that may pass. Whether it stays in the queue.
  bool Retry(int64_t step);

  // The checkpoint of the last round is finished.
  bool complete() const { return finished_.contains(rounds_); }

 private:
  const int64_t every_;
  const int64_t rounds_;
  std::map<int64_t, int64_t> first_of_multiple_;  // step
  std::set<int64_t> waiting_;
  std::set<int64_t> finished_;
  std::map<int64_t, int> failures_;
};

class EvaluationSnapshots {
 public:
  // Every `every` rounds of `rounds`. Looks at the cards
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
