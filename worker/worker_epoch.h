// SPDX-License-Identifier: Apache-2.0
//
// One run epoch of a worker process, from the coordinator's reply to the end of
// the round loop. Owns exchange, gate, checkpoint writer and roles. The next
// epoch starts from a checkpoint or, in fleets that re-form, from memory.
//
// Owner: WorkerMain. Thread safety: Run on the compute thread, once; Wake from
// any thread. Heartbeats call back on their own thread.
//
// Order of shutdown: the round loop ends; the checkpoint writer is flushed; the
// worker serves the others until the coordinator tells it to leave; heartbeats
// stop; exchange and fleet close; the writer joins.
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
    kStopped,      // at a cut, or without the last checkpoint; resumable
    kSuperseded,   // register again
  };
  struct Options {
    Role role = ROLE_UNKNOWN;
    int rank = 0;
    RoleFactories roles = {};
    // Listen addresses for other hosts; empty: only this host connects.
    std::string exchange_listen = {};  // discriminator only
    std::string fleet_listen = {};
  };

  // `client` must be registered and outlive this object. `stop` is set by
  // SIGTERM. `held` is the state of the previous epoch; Run replaces it with
  // this epoch's, unless no round began.
  WorkerEpoch(Options options, ControlClient* client,
              const RegisterReply& assignment, const RunPlan& plan,
              const std::atomic<bool>* stop, std::optional<HeldState>* held);
  ~WorkerEpoch();

  // Returns the first failure as error; ExitCodeOf() is the worker's exit code.
  absl::StatusOr<Outcome> Run();

  // Reports immediately that `stop` was set.
  void Wake();

 private:
  // Only advances. The last three phases are final.
  enum class Phase {
    kOpening,        // prepares; AUTO measures
    kJoining,        // waits for the others
    kJoinCancelled,  // Wake() has cut the wait for others short
    kRunning,        // all have joined
    kFinished,       // all is done; serves others until told to leave
    kFailed,         // ended_ has the reason
    kLeaving,        // the run has ended
    kSuperseded,     // the epoch has ended
  };

  absl::Status RunRoundLoop();
  Outcome OutcomeOfLeaving() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RunAllRounds(const JoinReply& joined);
  // Replaces the state of `role` with the newest of the fleet.
  absl::Status TakeOver(TrainingRole& role, const RunRolesOptions& waiting);
  // Keeps the state of `role` for the next epoch. `done`: end of its loop.
  void Hold(const TrainingRole& role, const absl::Status& done);
  // `plan` contains this worker's device.
  absl::Status ConnectToOthers(const JoinReply& joined, const RunPlan& plan);
  // Waits until messages pass in both directions to and from all peers.
  //   FAILED_PRECONDITION  no messages within `patience`; names host, address
  //                        and direction. UNAVAILABLE in later epochs.
  absl::Status AwaitPeers(absl::Duration patience);
  bool Plays(Role role) const {
    return options_.role == role || options_.role == COLOCATED;
  }
  // In later epochs, workers of this run have seen its files before.
  bool IsFirstEpoch() const { return place_.run_epoch <= 1; }
  bool HasBegun() const {
    return takes_over_ || link_damage_->load() ||
           gate_.started() >= place_.first_round;
  }
  // Waits for the coordinator's decision after the other workers have left.
  void WaitForVerdict(const absl::Status& failure);
  absl::Status FlushCheckpoints();
  // Waits while several checkpoints wait for other workers or the coordinator's
  // disk, to limit the rounds that a crash would lose.
  void AwaitOlderCheckpoints();
  // Chooses values for AUTO: from the checkpoint, or by measuring.
  absl::Status ChooseComputes();
  // Opens addresses for the workers of this fleet and of the other role.
  absl::Status OpenEnds();
  absl::StatusOr<JoinReply> JoinOthers();
  // Reports `failure` to the coordinator and returns it.
  absl::Status TellFailure(absl::Status failure);
  // Returns the choice of this run's start if `measured_for` is equal.
  std::optional<ComputeChoice> ChosenBefore(
      Role role, const std::string& measured_for) const;
  void StartHeartbeats();
  Heartbeats::WorkerState CurrentState();
  // Records the awaited rank of the fleet, also in the middle of a pass.
  void ObserveFleet();
  void WakeHeartbeats();
  void OnReply(const HeartbeatReply& reply);
  template <typename Reply>
  void EndIfOver(const Reply& reply);
  void ReportRound(RoundMetrics metrics);
  // Does nothing after the end of the epoch.
  void Enter(Phase phase);
  // Ends the round loop with `reason` and wakes all waits.
  void End(Phase how, absl::Status reason);
  // Returns the reason of the epoch's end; OK before the end.
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
  // A message from another worker was damaged.
  const std::shared_ptr<std::atomic<bool>> link_damage_ =
      std::make_shared<std::atomic<bool>>(false);

  // Used only by the compute thread.
  std::optional<HeldState>* const held_;
  bool takes_over_ = false;  // the state comes from the fleet, not from a file
  std::map<Role, ComputeChoice> choices_;
  std::vector<RoleCompute> chosen_;  // choices of AUTO

  RoundGate gate_;
  WaitBoard waits_;

  mutable absl::Mutex mu_;
  // Set once by the compute thread under mu_; other threads read under mu_.
  std::unique_ptr<FleetLink> fleet_;
  std::unique_ptr<ExchangeEnds> ends_;
  // Completed rounds by role; a colocated worker has two roles.
  std::map<Role, int64_t> completed_ ABSL_GUARDED_BY(mu_);
  // Step of the newest complete checkpoint known to this worker.
  int64_t committed_step_ ABSL_GUARDED_BY(mu_);
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kOpening;
  absl::Status ended_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<CheckpointWriter> writer_;  // reports to heartbeats_
  // Last: its thread uses all members above.
  std::unique_ptr<Heartbeats> heartbeats_;
};

}  // namespace gandem
