// SPDX-License-Identifier: Apache-2.0
//
// The rounds of an epoch and its end; worker_epoch_start.cc has the steps
// before the first round.
#include "worker/worker_epoch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/process/log.h"
#include "common/security/refusals.h"
#include "common/status.h"
#include "training/roles/run_roles.h"
#include "training/state/catch_torch.h"
#include "training/state/module_state.h"
#include "worker/epoch_failure.h"

namespace gandem {
namespace {

// Time limit for reporting a failure to the coordinator.
constexpr absl::Duration kFailureReport = absl::Seconds(5);
// Time between two checks whether older checkpoints are settled.
constexpr absl::Duration kAskInterval = absl::Milliseconds(50);

}  // namespace

WorkerEpoch::WorkerEpoch(Options options, ControlClient* client,
                         const RegisterReply& assignment, const RunPlan& plan,
                         const std::atomic<bool>* stop,
                         std::optional<HeldState>* held)
    : options_(std::move(options)),
      client_(client),
      assignment_(assignment),
      plan_(plan),
      stop_(stop),
      place_({.rank = assignment.position(),
              .run_epoch = assignment.run_epoch(),
              .incarnation = assignment.incarnation(),
              .first_round = assignment.first_round(),
              .saved_rounds = assignment.committed_step()}),
      fleet_size_(
          options_.role == COLOCATED ? 1 : plan.role(options_.role).workers),
      uses_nccl_(fleet_size_ > 1 && plan.role(options_.role).uses_nccl),
      held_(held),
      gate_(place_.first_round, plan.rounds),
      waits_(place_.first_round),
      committed_step_(place_.saved_rounds) {
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    if (Plays(role)) completed_[role] = place_.first_round;
  }
}

WorkerEpoch::~WorkerEpoch() {
  End(Phase::kSuperseded, absl::CancelledError("the run epoch is over"));
  writer_.reset();  // completes and reports the current file
  heartbeats_.reset();
}

absl::StatusOr<WorkerEpoch::Outcome> WorkerEpoch::Run() {
  absl::Status done = RunRoundLoop();
  absl::MutexLock lock(&mu_);
  switch (phase_) {
    case Phase::kSuperseded:
      return Outcome::kSuperseded;
    case Phase::kLeaving:
      return OutcomeOfLeaving();
    case Phase::kFailed:
      return ended_;  // explains the loop's error
    default:
      return done;
  }
}

WorkerEpoch::Outcome WorkerEpoch::OutcomeOfLeaving() const {
  if (committed_step_ >= plan_.rounds) return Outcome::kRunComplete;
  const bool has_more_rounds = std::ranges::any_of(
      completed_, [&](const auto& role) { return role.second < plan_.rounds; });
  if (!has_more_rounds) {
    GANDEM_LOG_WARN(
        "all {} rounds are done, but their checkpoint is not complete; the "
        "newest one has {} rounds, and a new start goes on from there",
        plan_.rounds, committed_step_);
  }
  return Outcome::kStopped;
}

absl::Status WorkerEpoch::RunRoundLoop() {
  StartHeartbeats();
  const absl::Status opened =
      JudgeFailure(OpenEnds(), {.is_first = IsFirstEpoch()});
  GANDEM_RETURN_IF_ERROR(ended());
  if (!opened.ok()) return TellFailure(opened);
  absl::StatusOr<JoinReply> joined = JoinOthers();
  // The coordinator refused this worker, or this process does not see the run
  // folder. The report spares the other workers a wait.
  if (absl::IsInvalidArgument(joined.status()) ||
      absl::IsDataLoss(joined.status())) {
    return TellFailure(joined.status());
  }
  GANDEM_RETURN_IF_ERROR(joined);
  EndIfOver(*joined);
  GANDEM_RETURN_IF_ERROR(ended());
  heartbeats_->Wake();
  absl::Status done = CatchTorch([&] { return RunAllRounds(*joined); });
  done = JudgeFailure(std::move(done),
                      {.has_begun = HasBegun(), .is_first = IsFirstEpoch()});
  if (done.ok()) done = FlushCheckpoints();
  if (!done.ok()) {
    WaitForVerdict(done);
    return ended().ok() ? TellFailure(done) : done;
  }
  Enter(Phase::kFinished);
  heartbeats_->Wake();
  // Other workers may still fetch from this worker's exchange.
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &WorkerEpoch::HasEnded));
  return ended_;
}

absl::Status WorkerEpoch::TellFailure(absl::Status failure) {
  // Otherwise the coordinator would notice the failure by a timeout.
  heartbeats_->ReportFailure(failure, MonotonicNow() + kFailureReport);
  return failure;
}

void WorkerEpoch::WaitForVerdict(const absl::Status& failure) {
  if (fleet_->collectives().tensors == nullptr || !MayBeTheirs(failure)) return;
  GANDEM_LOG_WARN("this fleet is over, waiting for the coordinator: {}",
                  failure);
  // Time after which the coordinator notices a silent worker.
  const absl::Duration patience =
      plan_.control.heartbeat_timeout + 2 * plan_.control.heartbeat;
  absl::MutexLock lock(&mu_);
  AwaitUntil(&mu_, absl::Condition(this, &WorkerEpoch::HasEnded),
             MonotonicNow() + patience);
}

absl::Status WorkerEpoch::RunAllRounds(const JoinReply& joined) {
  const RunPlan plan = WithDevices(plan_, PositionOnHost(joined, place_.rank));
  GANDEM_RETURN_IF_ERROR(ConnectToOthers(joined, plan));
  if (options_.role != COLOCATED) {
    choices_[GENERATOR] = joined.generator_compute();
    choices_[DISCRIMINATOR] = joined.discriminator_compute();
  }
  RoleServices services = {.gate = &gate_, .checkpoints = writer_.get()};
  services.report = [this](const RoundMetrics& m) { ReportRound(m); };
  services.waits = &waits_;
  const RoleSetup setup{.place = place_,
                        .resume_from = assignment_.resume_from(),
                        .run_dir = assignment_.run_dir(),
                        .generator_choice = choices_[GENERATOR],
                        .discriminator_choice = choices_[DISCRIMINATOR],
                        .services = services,
                        .fleet = fleet_->collectives()};
  std::vector<std::unique_ptr<TrainingRole>> owned;
  if (Plays(GENERATOR)) {
    RoleSetup of_generator = setup;
    // With alternating roles, the waits of the discriminator are recorded.
    if (options_.role == COLOCATED) of_generator.services.waits = nullptr;
    GANDEM_ASSIGN_OR_RETURN(
        owned.emplace_back(),
        options_.roles.generator(plan, of_generator, ends_->generator()));
  }
  if (Plays(DISCRIMINATOR)) {
    GANDEM_ASSIGN_OR_RETURN(
        owned.emplace_back(),
        options_.roles.discriminator(plan, setup, ends_->discriminator()));
  }
  std::vector<TrainingRole*> roles;
  for (const auto& role : owned) roles.push_back(role.get());
  const RunRolesOptions waiting{.poll = plan.control.poll,
                                .interrupted = [this] { return ended(); }};
  if (assignment_.keep_state()) {
    GANDEM_RETURN_IF_ERROR(TakeOver(*roles.front(), waiting));
  }
  const absl::Status done = RunRoles(roles, waiting);
  if (options_.role != COLOCATED && !plan.schedule().IsExact()) {
    Hold(*roles.front(), done);
  }
  return done;
}

absl::Status WorkerEpoch::TakeOver(TrainingRole& role,
                                   const RunRolesOptions& waiting) {
  // From here on damage comes from the network, not from a file.
  takes_over_ = true;
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<NamedTensor> newest,
      TakeNewestState(*held_, fleet_->collectives().host, waiting));
  GANDEM_RETURN_IF_ERROR(role.Restore(TensorReader(std::move(newest))));
  held_->reset();
  return absl::OkStatus();
}

void WorkerEpoch::Hold(const TrainingRole& role, const absl::Status& done) {
  // Consistent where a loop ends or waits; else an update may be partial.
  if (!done.ok() && !MayBeTheirs(done)) return;
  RoleState state = role.Capture();
  *held_ = HeldState{.run_epoch = place_.run_epoch,
                     .updates = state.updates,
                     .completed_rounds = state.completed_rounds,
                     .tensors = std::move(state.tensors)};
}

absl::Status WorkerEpoch::FlushCheckpoints() {
  waits_.Begin(WorkerPosition::CHECKPOINT);
  // A slow disk does not end the worker; the coordinator decides.
  while (true) {
    const absl::Status written =
        writer_->Flush(MonotonicNow() + absl::Seconds(1));
    if (!absl::IsDeadlineExceeded(written)) {
      waits_.End();
      return written;
    }
    GANDEM_RETURN_IF_ERROR(ended());
  }
}

// Runs on the writer's thread; the round loop waits at a checkpoint.
void WorkerEpoch::AwaitOlderCheckpoints() {
  const absl::Time deadline = MonotonicNow() + plan_.control.heartbeat_timeout;
  while (heartbeats_->checkpoints_lag() && MonotonicNow() < deadline) {
    heartbeats_->Wake();
    absl::MutexLock lock(&mu_);
    if (AwaitUntil(&mu_, absl::Condition(this, &WorkerEpoch::HasEnded),
                   MonotonicNow() + kAskInterval)) {
      return;
    }
  }
}

void WorkerEpoch::ObserveFleet() {
  const FleetLink* fleet = nullptr;
  {
    absl::MutexLock lock(&mu_);
    fleet = fleet_.get();
  }
  if (fleet != nullptr) waits_.Observe(options_.role, fleet->rank_waited_for());
}

// Called by the heartbeat thread.
Heartbeats::WorkerState WorkerEpoch::CurrentState() {
  ObserveFleet();
  absl::MutexLock lock(&mu_);
  const bool has_joined = phase_ >= Phase::kRunning;
  int64_t completed = plan_.rounds;
  for (const auto& [role, rounds] : completed_) {
    completed = std::min(completed, rounds);
  }
  return {.started_round = gate_.started(),
          .completed_rounds = completed,
          .paused = gate_.paused(),
          .stop_requested = has_joined && stop_->load(),
          .finished = phase_ == Phase::kFinished};
}

void WorkerEpoch::OnReply(const HeartbeatReply& reply) {
  if (reply.pause() && !gate_.paused()) {
    gate_.Pause();
    WakeHeartbeats();
  }
  if (reply.has_cut() && !gate_.has_cut()) gate_.SetCut(reply.cut());
  {
    absl::MutexLock lock(&mu_);
    committed_step_ = std::max(committed_step_, reply.committed_step());
  }
  EndIfOver(reply);
}

template <typename Reply>
void WorkerEpoch::EndIfOver(const Reply& reply) {
  if (reply.epoch_superseded()) {
    End(Phase::kSuperseded, absl::CancelledError("the run epoch is over"));
  } else if (reply.leave()) {
    End(Phase::kLeaving, absl::CancelledError("the run is over"));
  }
}

void WorkerEpoch::ReportRound(RoundMetrics metrics) {
  metrics.set_run_epoch(place_.run_epoch);
  metrics.set_rank(options_.rank);  // the role knows only its position
  metrics.set_refused_connections(NumRefusals());
  {
    absl::MutexLock lock(&mu_);
    completed_[metrics.role()] = metrics.round() + 1;
  }
  const int64_t every = plan_.control.metrics_every_rounds;
  if ((metrics.round() + 1) % every == 0 ||
      metrics.round() >= gate_.last_round() || !metrics.sample_grid().empty() ||
      !metrics.health().empty()) {
    heartbeats_->AddMetrics(std::move(metrics));
  }
}

void WorkerEpoch::Wake() {
  WakeHeartbeats();
  absl::MutexLock lock(&mu_);
  if (phase_ == Phase::kOpening || phase_ == Phase::kJoining) {
    phase_ = Phase::kJoinCancelled;
    client_->Cancel();
  }
}

void WorkerEpoch::WakeHeartbeats() {
  absl::MutexLock lock(&mu_);
  if (phase_ == Phase::kRunning || phase_ == Phase::kFinished) {
    heartbeats_->Wake();
  }
}

void WorkerEpoch::Enter(Phase phase) {
  absl::MutexLock lock(&mu_);
  if (!HasEnded()) phase_ = phase;
}

void WorkerEpoch::End(Phase how, absl::Status reason) {
  FleetLink* fleet = nullptr;
  ExchangeEnds* ends = nullptr;
  {
    absl::MutexLock lock(&mu_);
    if (HasEnded()) return;
    phase_ = how;
    ended_ = reason;
    if (writer_) writer_->Close(reason);  // closed before the others
    fleet = fleet_.get();
    ends = ends_.get();
  }
  if (fleet != nullptr) fleet->Close(reason);
  if (ends != nullptr) ends->Close(reason);
}

absl::Status WorkerEpoch::ended() const {
  absl::MutexLock lock(&mu_);
  return ended_;
}

}  // namespace gandem
