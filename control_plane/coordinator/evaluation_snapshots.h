// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints that wait to be evaluated: hard links in
// RUN/evaluation/snapshots, which pruning does not touch. `gandem train` links
// the due ones before it prunes, and `gandem watch-eval` links the ones that it
// finds, by the same rule.
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

// Decides which checkpoints are evaluated: the first one at or after each
// multiple of `every` rounds, and the one of the last round, in ascending
// order. Uses no files and no processes.
class EvaluationQueue {
 public:
  // Failed evaluations of a checkpoint before it is skipped.
  static constexpr int kTries = 3;

  // every >= 1; `rounds`: length of the whole run.
  EvaluationQueue(int64_t every, int64_t rounds)
      : every_(every), rounds_(rounds) {}

  // Records that `step` has a metric card, so that no later step of the same
  // multiple is evaluated.
  void Know(int64_t step);

  // Returns the steps among `steps` (any order) that are due and not queued
  // yet. The caller links their checkpoints and calls Add for each link.
  std::set<int64_t> Due(std::span<const int64_t> steps) const;
  void Add(int64_t step);

  bool IsWaiting(int64_t step) const { return waiting_.contains(step); }
  // The oldest waiting step, if any.
  std::optional<int64_t> Next() const;
  // Removes `step` from the queue for good.
  void Finish(int64_t step);
  // Counts a failure that may be temporary. False: `step` left the queue.
  bool Retry(int64_t step);

  // Whether the checkpoint of the last round is finished.
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
  // `every` and `rounds` as for EvaluationQueue. Reads the run's metric cards.
  EvaluationSnapshots(const std::string& run_dir, int64_t every,
                      int64_t rounds);

  // Links the run's due checkpoints, and queues them and earlier links.
  // `committed`: the only checkpoint that is new since the last call, which
  // saves listing the others.
  absl::Status KeepDue(std::optional<int64_t> committed = {});

  // Removes links that KeepDue() made for another value of `every`.
  absl::Status RemoveStale();

  EvaluationQueue& queue() { return queue_; }
  std::string PathOf(int64_t step) const;
  absl::Status Remove(int64_t step);

 private:
  std::vector<int64_t> ListKept() const;

  const std::string run_dir_;
  const std::string folder_;
  EvaluationQueue queue_;
  bool all_are_kept_ = false;  // by the last KeepDue()
};

}  // namespace gandem
