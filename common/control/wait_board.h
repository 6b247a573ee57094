// SPDX-License-Identifier: Apache-2.0
//
// Current wait of a worker's compute thread, or that it computes. The compute
// thread records waits at the cost of two short locks. The heartbeat thread
// reports them to the coordinator several times a second and logs long waits,
// so a hanging compute thread is visible.
//
// Owner: the worker's run epoch; outlives its role.
// Thread safety: Begin to EndRound from the compute thread, except Observe; all
// other members from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "proto/control.pb.h"

namespace gandem {

class WaitBoard {
 public:
  // Starts in the state "computes", before round `first_round`.
  explicit WaitBoard(int64_t first_round, Clock* clock = Clock::Real());

  // Starts a wait for workers of role `whom` (ROLE_UNKNOWN: not for a worker).
  // Calls with equal arguments continue the wait until End.
  void Begin(WorkerPosition::Wait what, Role whom = ROLE_UNKNOWN);
  // Names the rank that the current wait is for; -1: any.
  void NameRank(int rank);
  // Records a wait that the compute thread cannot record, in the middle of a
  // pass (statistics of all ranks). Called by another thread while no wait is
  // recorded. The awaited worker is `rank` of role `whom`; -1: no wait.
  void Observe(Role whom, int rank);
  // Ends a wait or operation. The thread computes the next operation.
  void End();
  // Ends a round; `next_round` follows.
  void EndRound(int64_t next_round);

  WorkerPosition Position() const;
  // Returns a log line, usually empty. Reports a wait after 5 s and twice the
  // last round's time, again each time its duration has doubled, and once at
  // its end. Reports computing after 60 s and ten times the last round's time.
  std::string Notice();

 private:
  WorkerPosition PositionAt(absl::Time now) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void Change(WorkerPosition::Wait what, Role whom)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration Patience() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  Clock* const clock_;
  mutable absl::Mutex mu_;
  WorkerPosition now_ ABSL_GUARDED_BY(mu_);        // without its seconds
  bool is_observed_ ABSL_GUARDED_BY(mu_) = false;  // now_ comes from Observe
  absl::Time since_ ABSL_GUARDED_BY(mu_);
  absl::Time round_since_ ABSL_GUARDED_BY(mu_);
  absl::Duration last_round_ ABSL_GUARDED_BY(mu_);
  // Whether the current wait was logged.
  bool is_said_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time say_again_ ABSL_GUARDED_BY(mu_);
  // Log line for the end of a logged wait; not returned yet.
  std::string over_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
