// SPDX-License-Identifier: Apache-2.0
//
// Heartbeat thread of a worker during one run epoch. Sends progress, metrics
// and shard reports to the coordinator, returns its requests, and logs long
// waits. Keeps trying without an answer; a new coordinator ends the epoch.
//
// Owner: the worker, one per run epoch, from the end of Register to the next
// Register (before Join, AUTO may measure for long). All objects that the
// callbacks use must outlive it. Thread safety: any thread. Callbacks run on
// the heartbeat thread without a lock and must not block.
// Errors: the last error goes to on_end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/control/control_client.h"
#include "common/control/wait_board.h"
#include "common/process/thread.h"
#include "proto/control.pb.h"

namespace gandem {

class Heartbeats {
 public:
  struct WorkerState {
    int64_t started_round = -1;
    int64_t completed_rounds = 0;
    bool paused = false;
    bool stop_requested = false;
    bool finished = false;
  };
  struct Options {
    absl::Duration interval = absl::Milliseconds(250);
    // Time without an answer until on_end; 10 s if the worker is stopping.
    absl::Duration give_up_after = absl::Hours(1);
    // Metrics beyond it are dropped and counted.
    int64_t max_queued_metrics = 4096;
    WaitBoard* waits = nullptr;          // required, outlives this
    std::function<WorkerState()> state;  // required
    std::function<void(const HeartbeatReply&)> on_reply;  // required
    // The last callback; ExitCodeOf(argument) is the worker's exit code.
    //   ABORTED      superseded, or the run has ended
    //   UNAVAILABLE  no answer for give_up_after
    //   CANCELLED    the client was cancelled
    std::function<void(const absl::Status&)> on_end;  // required
  };

  // `client` must be registered and outlive this object.
  Heartbeats(ControlClient* client, Options options);
  // Drops unsent records.
  ~Heartbeats();

  // Never blocks. Drops the record if the queue is full.
  void AddMetrics(RoundMetrics metrics);
  // Queues the report of this worker's checkpoint files, or of the error that
  // prevented them. The report arrives before any later `finished` or `paused`.
  void AddShard(ShardReport report);
  // Returns whether several checkpoints wait for the coordinator to complete or
  // discard them. Returns false while no coordinator answers.
  bool checkpoints_lag();
  // Sends a heartbeat now, for example after a change of state().
  void Wake();
  // Reports the first failure of a process that exits, after all queued
  // records. Returns when the report has arrived or at the deadline. If the run
  // epoch has ended, on_reply has been called with epoch_superseded before the
  // return; the failure is then irrelevant and the process registers again.
  void ReportFailure(const absl::Status& failure, absl::Time deadline);

 private:
  void Run();
  absl::Status Beat();
  absl::Status SendShards();
  // Forgets settled checkpoints (complete or discarded).
  void NoteSettled(int64_t settled_step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status SendHeartbeat(const WorkerState& state);
  // Returns OK to retry, or the reason to stop.
  absl::Status Recover(const absl::Status& error, bool stop_requested);

  ControlClient* const client_;
  const Options options_;
  absl::Mutex mu_;
  std::deque<RoundMetrics> metrics_ ABSL_GUARDED_BY(mu_);
  int64_t metrics_dropped_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<ShardReport> unsent_shards_ ABSL_GUARDED_BY(mu_);
  std::deque<int64_t> unsettled_steps_ ABSL_GUARDED_BY(mu_);  // sent
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  // The failure was reported, or its epoch has ended.
  bool failure_settled_ ABSL_GUARDED_BY(mu_) = false;
  bool is_answered_ ABSL_GUARDED_BY(mu_) = true;
  bool wake_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  // Used only by the thread.
  absl::Time last_answer_;
  Thread thread_;  // last: uses all members above
};

}  // namespace gandem
