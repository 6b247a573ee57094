// SPDX-License-Identifier: Apache-2.0
//
// One run epoch of a worker process: from the coordinator's reply to the end of
// the round loop. All that belongs to an epoch (exchange, gate, checkpoint
// writer, roles) lives and dies here; the next epoch starts from nothing but a
// checkpoint, or, in fleets that re-form, from what this one has left in
// memory.
//
// Owner: WorkerMain. Thread safety: Run on the compute thread, once; Wake from
// any. Heartbeats call back on their own thread.
//
// Order of shutdown: the round loop ends; the checkpoint writer is flushed; the
// worker serves the others until the coordinator says leave; then heartbeats
// stop, exchange and fleet close, the writer joins.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/control/control_client.h"
#include "common/control/heartbeats.h"
#include "common/control/wait_board.h"
#include "proto/control.pb.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"
#include "training/roles/round_gate.h"
#include "worker/checkpoint_writer.h"
#include "worker/exchange_ends.h"
#include "worker/fleet_link.h"
#include "worker/state_handover.h"

namespace gandem {

class WorkerEpoch {
 public:
  enum class Outcome {
    kRunComplete,  // all rounds are done and in a complete checkpoint
    kStopped,      // at a cut, or without the last checkpoint; a start resumes
    kSuperseded,   // register again
  };
  struct Options {
    Role role = ROLE_UNKNOWN;
    int rank = 0;
    RoleFactories roles = {};
    // Addresses to listen at for other hosts; empty: only for this host.
    std::string exchange_listen = {};  // discriminator only
    std::string fleet_listen = {};
  };

  // `client` has registered and outlives this; `stop` is set by SIGTERM. `held`
  // is the state of the epoch before, and that of this one when Run returns: it
  // stays as it was if the rounds were not begun.
  WorkerEpoch(Options options, ControlClient* client,
              const RegisterReply& assignment, const RunPlan& plan,
              const std::atomic<bool>* stop, std::optional<HeldState>* held);
  ~WorkerEpoch();

  // Errors: the first failure; ExitCodeOf() is the worker's exit code.
  absl::StatusOr<Outcome> Run();

  // Lets the coordinator know at once that `stop` was set.
  void Wake();

 private:
  // Only ever forward; of the last three, the ends, the first one stays.
  enum class Phase {
    kOpening,        // gets ready; AUTO measures
    kJoining,        // waits for the others
    kJoinCancelled,  // Wake() has cut that short
    kRunning,        // all have joined
    kFinished,       // all is done; serves the others until it may leave
    kFailed,         // ended_ says why
    kLeaving,        // the run is over
    kSuperseded,     // the epoch is over
  };

  absl::Status RunRoundLoop();
  Outcome OutcomeOfLeaving() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RunAllRounds(const JoinReply& joined);
  // The newest state of the fleet becomes that of `role`.
  absl::Status TakeOver(TrainingRole& role, const RunRolesOptions& waiting);
  // Keeps the state of `role` for the next epoch. `done` is how its loop ended.
  void Hold(const TrainingRole& role, const absl::Status& done);
  // `plan` has this worker's device.
  absl::Status ConnectToOthers(const JoinReply& joined, const RunPlan& plan);
  // Waits until messages pass in both directions between this worker and each
  // that it will talk to.
  //   FAILED_PRECONDITION, in later epochs UNAVAILABLE  none passed within
  //   `patience`; names host, address and direction.
  absl::Status AwaitPeers(absl::Duration patience);
  bool Plays(Role role) const {
    return options_.role == role || options_.role == COLOCATED;
  }
  // Tells whether this is the run's first epoch. In later epochs workers of
  // this run have seen its files before.
  bool IsFirstEpoch() const { return place_.run_epoch <= 1; }
  bool HasBegun() const {
    return takes_over_ || link_damage_->load() ||
           gate_.started() >= place_.first_round;
  }
  // A worker whose others have left waits for the coordinator's word on them.
  void WaitForVerdict(const absl::Status& failure);
  absl::Status FlushCheckpoints();
  // While several checkpoints wait for other workers or for the coordinator's
  // disk: the rounds that a crash would lose stay bounded.
  void AwaitOlderCheckpoints();
  // Chooses values for AUTO in the roles of this worker: from the checkpoint,
  // or by measuring before the worker joins the others.
  absl::Status ChooseComputes();
  // Opens the addresses at which the workers of its fleet and of the other role
  // find this worker.
  absl::Status OpenEnds();
  // Waits for the others.
  absl::StatusOr<JoinReply> JoinOthers();
  // Reports `failure` to the coordinator, and returns it.
  absl::Status TellFailure(absl::Status failure);
  // Returns the choice from the beginning of this run, if it was made for the
  // same `measured_for`.
  std::optional<ComputeChoice> ChosenBefore(
      Role role, const std::string& measured_for) const;
  void StartHeartbeats();
  Heartbeats::WorkerState CurrentState();
  // Notes for whom of its fleet this worker waits, also in the middle of a
  // pass.
  void ObserveFleet();
  // The next heartbeat comes at once.
  void WakeHeartbeats();
  void OnReply(const HeartbeatReply& reply);
  template <typename Reply>
  void EndIfOver(const Reply& reply);
  void ReportRound(RoundMetrics metrics);
  // An epoch that has ended stays in its phase.
  void Enter(Phase phase);
  // Ends the round loop with `reason` and wakes all waits.
  void End(Phase how, absl::Status reason);
  // Reason of the epoch's end; OK before the end.
  absl::Status ended() const;
  bool HasEnded() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return phase_ >= Phase::kFailed;
  }

  const Options options_;
  ControlClient* const client_;
  const RegisterReply assignment_;
  const RunPlan plan_;
  const std::atomic<bool>* const stop_;
  const EpochPlace place_;
  const int fleet_size_;  // of this worker's role
  const bool uses_nccl_;  // in this worker's fleet
  // A message of another worker has arrived damaged.
  const std::shared_ptr<std::atomic<bool>> link_damage_ =
      std::make_shared<std::atomic<bool>>(false);

  // The compute thread's.
  std::optional<HeldState>* const held_;
  bool takes_over_ = false;  // the state comes from the fleet, not from a file
  std::map<Role, ComputeChoice> choices_;
  std::vector<RoleCompute> chosen_;  // what AUTO has become, and for what

  RoundGate gate_;
  WaitBoard waits_;

  mutable absl::Mutex mu_;
  // Set once, by the compute thread with mu_ held, which others need to read.
  std::unique_ptr<FleetLink> fleet_;
  std::unique_ptr<ExchangeEnds> ends_;
  // Rounds completed, by role; a colocated worker has two.
  std::map<Role, int64_t> completed_ ABSL_GUARDED_BY(mu_);
  // Step of the newest complete checkpoint that this worker knows of.
  int64_t committed_step_ ABSL_GUARDED_BY(mu_);
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kOpening;
  absl::Status ended_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<CheckpointWriter> writer_;  // reports to heartbeats_
  std::unique_ptr<Heartbeats> heartbeats_;    // its thread uses all the above
};

}  // namespace gandem
