// SPDX-License-Identifier: Apache-2.0
//
// Current wait of a worker's compute thread, or that it computes. The compute
// thread records the start and end of waits. The heartbeat thread, which wakes
// several times a second, reports them to the coordinator and logs long waits.
// A compute thread that hangs is therefore visible, and a wait costs two short
// locks.
//
// Owner: the worker's run epoch; outlives its role.
// Thread safety: Begin to EndRound, except Observe, from the compute thread;
// everything else from any thread.
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
  // It computes, before round `first_round`.
  explicit WaitBoard(int64_t first_round, Clock* clock = Clock::Real());

  // A wait begins, for `whom`'s workers (ROLE_UNKNOWN: for no worker), or goes
  // on: the same again is one wait until End.
  void Begin(WorkerPosition::Wait what, Role whom = ROLE_UNKNOWN);
  // The wait goes on, for the worker at this position in its fleet; -1: any.
  void NameRank(int rank);
  // In the middle of a pass it may wait for others, too, without writing it
  // down (statistics of all ranks). Another thread has seen, while nothing else
  // was waited for, that it waits for `rank` of its fleet, of role `whom`; -1:
  // that it does not.
  void Observe(Role whom, int rank);
  // Marks the end of a wait or operation; the thread computes the next
  // operation from now on.
  void End();
  // `next_round` follows.
  void EndRound(int64_t next_round);

  WorkerPosition Position() const;
  // Returns a log line, usually empty. A wait is reported after 5 s and twice
  // the last round's time, then each time its duration has doubled, and once
  // when it ends. Computing is reported after 60 s and ten times the last
  // round's time.
  std::string Notice();

 private:
  WorkerPosition PositionAt(absl::Time now) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void Change(WorkerPosition::Wait what, Role whom)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration Patience() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  Clock* const clock_;
  mutable absl::Mutex mu_;
  WorkerPosition now_ ABSL_GUARDED_BY(mu_);        // but for its seconds
  bool is_observed_ ABSL_GUARDED_BY(mu_) = false;  // now_ is, not written down
  absl::Time since_ ABSL_GUARDED_BY(mu_);
  absl::Time round_since_ ABSL_GUARDED_BY(mu_);
  absl::Duration last_round_ ABSL_GUARDED_BY(mu_);
  // Whether the current wait was logged; further lines follow.
  bool is_said_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time say_again_ ABSL_GUARDED_BY(mu_);
  std::string over_ ABSL_GUARDED_BY(mu_);  // what was said is; not said yet
};

}  // namespace gandem
