// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints that wait for evaluation, as hard links in
// RUN/evaluation/snapshots, which pruning does not touch. `gandem train` links
// due checkpoints before it prunes. `gandem watch-eval` links the due ones that
// it finds. Both use EvaluationQueue.
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

// Decides which checkpoints are evaluated, in ascending order: the first at or
// after each multiple of `every` rounds, and the last round's. Uses no files.
class EvaluationQueue {
 public:
  // Failed evaluations after which a checkpoint is skipped.
  static constexpr int kTries = 3;

  // Requires every >= 1. `rounds`: number of rounds of the run.
  EvaluationQueue(int64_t every, int64_t rounds)
      : every_(every), rounds_(rounds) {}

  // Records that `step` has a metric card, so that no later step between the
  // same two multiples of `every` is evaluated.
  void Know(int64_t step);

  // Returns the steps among `steps`, in any order, that are due and not queued
  // yet. The caller links their checkpoints and calls Add() for each link.
  std::set<int64_t> Due(std::span<const int64_t> steps) const;
  void Add(int64_t step);

  bool IsWaiting(int64_t step) const { return waiting_.contains(step); }
  std::optional<int64_t> Next() const;
  void Finish(int64_t step);
  // Counts a temporary failure. Returns false after the last try.
  bool Retry(int64_t step);

  // Returns whether the last round's checkpoint has been evaluated or skipped.
  bool complete() const { return finished_.contains(rounds_); }

 private:
  const int64_t every_;
  const int64_t rounds_;
  std::map<int64_t, int64_t> first_of_multiple_;  // multiple -> step
  std::set<int64_t> waiting_;
  std::set<int64_t> finished_;
  std::map<int64_t, int> failures_;
};

class EvaluationSnapshots {
 public:
  // Reads the run's metric cards. `every`, `rounds`: see EvaluationQueue.
  EvaluationSnapshots(const std::string& run_dir, int64_t every,
                      int64_t rounds);

  // Links the run's due checkpoints, and queues all links. `committed`: the
  // only checkpoint added since the last call, which saves listing the others.
  absl::Status KeepDue(std::optional<int64_t> committed = {});

  // Removes links that were made for another value of `every`.
  absl::Status RemoveStale();

  EvaluationQueue& queue() { return queue_; }
  std::string PathOf(int64_t step) const;
  absl::Status Remove(int64_t step);

 private:
  std::vector<int64_t> ListKept() const;

  const std::string run_dir_;
  const std::string folder_;
  EvaluationQueue queue_;
  bool all_are_kept_ = false;  // since the last KeepDue()
};

}  // namespace gandem
