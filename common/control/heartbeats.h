// SPDX-License-Identifier: Apache-2.0
//
// A worker's heartbeats during one run epoch: a thread that tells the
// coordinator how far the worker is and brings its wishes back. It goes on
// while no coordinator answers; a new one ends the epoch. Metrics and shard
// reports travel along, and the log is told of waits that last.
//
// Owner: the worker, one per run epoch, from after Register to before the next
// Register: what comes before Join may take long (AUTO measures). Everything
// the callbacks use outlives it.
// Thread safety: any thread calls; the thread calls the callbacks without a
// lock held, and they must not wait.
// Errors: the last one goes to on_end.
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
  // The fields of HeartbeatRequest.
  struct WorkerState {
    int64_t started_round = -1;
    int64_t completed_rounds = 0;
    bool paused = false;
    bool stop_requested = false;
    bool finished = false;
  };
  struct Options {
    absl::Duration interval = absl::Milliseconds(250);
    // Time without an answer after which on_end is called; ten seconds in a
    // worker that is about to stop.
    absl::Duration give_up_after = absl::Hours(1);
    int64_t max_queued_metrics = 4096;   // later ones are dropped and counted
    WaitBoard* waits = nullptr;          // required, outlives this
    std::function<WorkerState()> state;  // required
    std::function<void(const HeartbeatReply&)> on_reply;  // required
    // The last call of all; its ExitCodeOf() is the worker's.
    //   ABORTED      superseded, or the run is over.
    //   UNAVAILABLE  nobody answered, see give_up_after.
    //   CANCELLED    the client was cancelled.
    std::function<void(const absl::Status&)> on_end;  // required
  };

  // `client` has registered and outlives this.
  Heartbeats(ControlClient* client, Options options);
  // Drops records that were not sent yet.
  ~Heartbeats();

  // Never waits; drops the record when the queue is full.
  void AddMetrics(RoundMetrics metrics);
  // This worker's files of one checkpoint, or the error that prevented them.
  // They are reported before any later `finished` or `paused`.
  void AddShard(ShardReport report);
  // Whether several checkpoints of this worker wait for the coordinator to
  // complete them or to give them up. False while no coordinator answers.
  bool checkpoints_lag();
  // Sends now: others wait for what state() says.
  void Wake();
  // Tells the first failure of a process that is about to leave, after all that
  // is queued. Returns when it has arrived or at the deadline. If the run epoch
  // was over before, on_reply has heard so by then: the failure does not count,
  // and the process registers again.
  void ReportFailure(const absl::Status& failure, absl::Time deadline);

 private:
  void Run();
  absl::Status Beat();
  absl::Status SendShards();
  // All checkpoints up to `settled_step` are complete or given up.
  void NoteSettled(int64_t settled_step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status SendHeartbeat(const WorkerState& state);
  // Returns OK to try again, or the reason to end.
  absl::Status Recover(const absl::Status& error, bool stop_requested);

  ControlClient* const client_;
  const Options options_;
  absl::Mutex mu_;
  std::deque<RoundMetrics> metrics_ ABSL_GUARDED_BY(mu_);
  int64_t metrics_dropped_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<ShardReport> unsent_shards_ ABSL_GUARDED_BY(mu_);
  std::deque<int64_t> unsettled_steps_ ABSL_GUARDED_BY(mu_);  // sent
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  // Told, or it is of an epoch that is over.
  bool failure_settled_ ABSL_GUARDED_BY(mu_) = false;
  bool is_answered_ ABSL_GUARDED_BY(mu_) = true;  // the last call was
  bool wake_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  // Only the thread uses these.
  absl::Time last_answer_;
  Thread thread_;  // last: it uses all of the above
};

}  // namespace gandem
