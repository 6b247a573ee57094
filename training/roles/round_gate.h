// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a round may begin, so that all workers can stop at a common
// cut (design.md section 8): pause every worker, find the latest round begun by
// any worker, let all complete that round, stop.
//
// Owner: a worker's run epoch. A colocated worker has one gate for both roles.
// Thread safety: all functions from any thread.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace gandem {

class RoundGate {
 public:
  enum class Answer {
    kStart,    // the round has begun
    kHold,     // paused without a known cut; nothing changed
    kPastEnd,  // the run or the cut ends before this round
  };

  // Rounds [first_round, rounds) may begin.
  RoundGate(int64_t first_round, int64_t rounds)
      : last_round_(rounds - 1), started_(first_round - 1) {}

  // Begins `round` if possible; waits until the deadline while paused.
  Answer Start(int64_t round, absl::Time deadline);

  // Holds rounds until SetCut(). Returns the latest round that has begun.
  int64_t Pause();
  // Sets the last round, which must not precede the result of Pause().
  void SetCut(int64_t cut);

  bool paused() const;
  bool has_cut() const;
  // Returns the last round that may begin: rounds - 1, or the cut.
  int64_t last_round() const;
  // Returns whether the run may end after `completed_rounds`: no round follows,
  // or a pause has not yet led to a cut.
  bool MayEndAfter(int64_t completed_rounds) const;
  // Returns the latest round that has begun; initially first_round - 1.
  int64_t started() const;

 private:
  bool MayAnswer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !paused_ || has_cut_;
  }

  mutable absl::Mutex mu_;
  int64_t last_round_ ABSL_GUARDED_BY(mu_);
  int64_t started_ ABSL_GUARDED_BY(mu_);
  bool paused_ ABSL_GUARDED_BY(mu_) = false;
  bool has_cut_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace gandem
