// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_epoch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/checkpoint/folder_proof.h"
#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/process/log.h"
#include "common/status.h"
#include "training/compute/choose_compute.h"
#include "training/roles/run_roles.h"
#include "training/state/catch_torch.h"
#include "training/state/module_state.h"
#include "worker/epoch_failure.h"

namespace gandem {
namespace {

// How long a failing worker tries to tell the coordinator why.
constexpr absl::Duration kFailureReport = absl::Seconds(5);

bool Has(Role role, Role wanted) { return role == wanted || role == COLOCATED; }

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
      place_({.rank = assignment.keep_state() ? assignment.position()
                                              : options_.rank,
              .run_epoch = assignment.run_epoch(),
              .incarnation = assignment.incarnation(),
              .first_round = assignment.first_round(),
              .saved_rounds = assignment.committed_step()}),
      fleet_size_(
          options_.role == COLOCATED ? 1 : plan.role(options_.role).workers),
      uses_nccl_(fleet_size_ > 1 && plan.role(options_.role).uses_nccl),
      held_(held),
      gate_(place_.first_round, plan.rounds),
      committed_step_(place_.saved_rounds) {
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    if (Has(options_.role, role)) completed_[role] = place_.first_round;
  }
}

WorkerEpoch::~WorkerEpoch() {
  End(Phase::kSuperseded, absl::CancelledError("the run epoch is over"));
  writer_.reset();  // completes what it is writing, and reports it
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
      return ended_;  // explains what the loop then ran into
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
  const absl::Status opened = JudgeFailure(OpenEnds(), /*has_begun=*/false);
  if (!opened.ok()) return TellFailure(opened);
  absl::StatusOr<JoinReply> joined = JoinOthers();
  // The coordinator refused this worker, and the others need not wait for it.
  if (absl::IsInvalidArgument(joined.status())) {
    return TellFailure(joined.status());
  }
  GANDEM_RETURN_IF_ERROR(joined);
  EndIfOver(*joined);
  GANDEM_RETURN_IF_ERROR(ended());
  StartHeartbeats();
  absl::Status done = CatchTorch([&] { return RunAllRounds(*joined); });
  done = JudgeFailure(std::move(done), HasBegun());
  if (done.ok()) done = FlushCheckpoints();
  if (!done.ok()) {
    WaitForVerdict(done);
    if (ended().ok()) {
      heartbeats_->ReportFailure(done, MonotonicNow() + kFailureReport);
    }
    return done;
  }
  Enter(Phase::kFinished);
  heartbeats_->Wake();
  // Others may still fetch from this worker's exchange.
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &WorkerEpoch::HasEnded));
  return ended_;
}

void WorkerEpoch::WaitForVerdict(const absl::Status& failure) {
  if (fleet_->collectives().tensors == nullptr || !MayBeTheirs(failure)) return;
  GANDEM_LOG_WARN("this fleet is over, waiting for the coordinator: {}",
                  failure);
  // It notices a silent worker after this time.
  const absl::Duration patience =
      plan_.control.heartbeat_timeout + 2 * plan_.control.heartbeat;
  absl::MutexLock lock(&mu_);
  AwaitUntil(&mu_, absl::Condition(this, &WorkerEpoch::HasEnded),
             MonotonicNow() + patience);
}

absl::Status WorkerEpoch::ConnectToOthers(const JoinReply& joined,
                                          const RunPlan& plan) {
  GANDEM_RETURN_IF_ERROR(
      fleet_->Connect(place_.rank, joined, place_.run_epoch));
  if (uses_nccl_) {
    const at::Device device(plan.role(options_.role).network.device);
    GANDEM_RETURN_IF_ERROR(fleet_->ConnectDevices(
        {.device = device.index(), .interrupted = [this] { return ended(); }},
        MonotonicNow() + plan.control.join_timeout));
  }
  return ends_->Connect({joined.discriminator_addresses().begin(),
                         joined.discriminator_addresses().end()});
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
  const RoleSetup setup{.place = place_,
                        .resume_from = assignment_.resume_from(),
                        .run_dir = assignment_.run_dir(),
                        .generator_choice = choices_[GENERATOR],
                        .discriminator_choice = choices_[DISCRIMINATOR],
                        .services = services,
                        .fleet = fleet_->collectives()};
  std::vector<std::unique_ptr<TrainingRole>> owned;
  if (Has(options_.role, GENERATOR)) {
    GANDEM_ASSIGN_OR_RETURN(
        owned.emplace_back(),
        options_.roles.generator(plan, setup, ends_->generator()));
  }
  if (Has(options_.role, DISCRIMINATOR)) {
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
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<NamedTensor> newest,
      TakeNewestState(*held_, fleet_->collectives().host, waiting));
  GANDEM_RETURN_IF_ERROR(role.Restore(TensorReader(std::move(newest))));
  held_->reset();
  return absl::OkStatus();
}

void WorkerEpoch::Hold(const TrainingRole& role, const absl::Status& done) {
  // An update is whole or not begun where a loop ends or waits; after any other
  // failure it may be half done.
  if (!done.ok() && !MayBeTheirs(done)) return;
  RoleState state = role.Capture();
  *held_ = HeldState{.run_epoch = place_.run_epoch,
                     .updates = state.updates,
                     .completed_rounds = state.completed_rounds,
                     .tensors = std::move(state.tensors)};
}

absl::Status WorkerEpoch::FlushCheckpoints() {
  // Not a slow disk, only the coordinator's word is a reason to leave.
  while (true) {
    const absl::Status written =
        writer_->Flush(MonotonicNow() + absl::Seconds(1));
    if (!absl::IsDeadlineExceeded(written)) return written;
    GANDEM_RETURN_IF_ERROR(ended());
  }
}

absl::StatusOr<JoinReply> WorkerEpoch::JoinOthers() {
  Enter(Phase::kJoining);
  JoinRequest ready;
  GANDEM_ASSIGN_OR_RETURN(
      *ready.mutable_proof(),
      ReadFolderProof(assignment_.run_dir(), assignment_.proof_file()));
  ready.set_exchange_address(ends_->address());
  ready.set_fleet_local_address(fleet_->local_address());
  ready.set_fleet_network_address(fleet_->network_address());
  *ready.mutable_compute() =
      choices_[options_.role == COLOCATED ? DISCRIMINATOR : options_.role];
  absl::StatusOr<JoinReply> joined = client_->Join(
      std::move(ready), MonotonicNow() + plan_.control.join_timeout);
  absl::MutexLock lock(&mu_);
  if (phase_ == Phase::kJoinCancelled) {
    return absl::CancelledError("stopped before the start");
  }
  phase_ = Phase::kJoined;
  return joined;
}

absl::Status WorkerEpoch::ChooseComputes() {
  const RunPlan plan = WithDevices(plan_, /*position=*/0);
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    // All ranks compute as the first one.
    if (!Has(options_.role, role) || place_.rank > 0) continue;
    if (assignment_.keep_state()) {
      choices_[role] = assignment_.compute();
      continue;
    }
    GANDEM_ASSIGN_OR_RETURN(
        choices_[role],
        ChooseCompute(plan.role(role).network, assignment_.resume_from()));
  }
  return absl::OkStatus();
}

absl::Status WorkerEpoch::TellFailure(absl::Status failure) {
  // There are no heartbeats yet; without this the coordinator would learn of it
  // by a timeout.
  HeartbeatRequest request;
  request.set_started_round(place_.first_round - 1);
  request.set_completed_rounds(place_.first_round);
  SetFailure(failure, request);
  const auto told = client_->Heartbeat(request);
  if (!told.ok()) {
    GANDEM_LOG_WARN("the coordinator could not be told: {}", told.status());
  } else if (told->epoch_superseded()) {
    End(Phase::kSuperseded, failure);
  }
  return failure;
}

absl::Status WorkerEpoch::OpenEnds() {
  if (uses_nccl_) GANDEM_RETURN_IF_ERROR(CheckNccl());
  GANDEM_RETURN_IF_ERROR(ChooseComputes());
  GANDEM_ASSIGN_OR_RETURN(fleet_,
                          FleetLink::Create(fleet_size_, options_.fleet));
  GANDEM_ASSIGN_OR_RETURN(
      ends_, ExchangeEnds::Create(options_.role, ExchangeAt(plan_, place_),
                                  options_.listen));
  return absl::OkStatus();
}

void WorkerEpoch::StartHeartbeats() {
  const bool writes_config = place_.rank == 0 && Has(options_.role, GENERATOR);
  writer_ = std::make_unique<CheckpointWriter>(
      CheckpointWriter::Options{
          .run_dir = assignment_.run_dir(),
          .run_epoch = place_.run_epoch,
          .files_per_checkpoint = options_.role == COLOCATED ? 2 : 1,
          .config_text =
              writes_config ? assignment_.config_text() : std::string(),
          .is_last =
              [this](int64_t rounds) { return gate_.MayEndAfter(rounds); },
          .patience = plan_.control.grace},
      [this](ShardReport report) { heartbeats_->AddShard(std::move(report)); });
  heartbeats_ = std::make_unique<Heartbeats>(
      client_,
      Heartbeats::Options{
          .interval = plan_.control.heartbeat,
          .state = [this] { return CurrentState(); },
          .on_reply = [this](const HeartbeatReply& reply) { OnReply(reply); },
          .on_end =
              [this](const absl::Status& reason) {
                End(Phase::kFailed, reason);
              }});
  Enter(Phase::kRunning);
}

Heartbeats::WorkerState WorkerEpoch::CurrentState() const {
  absl::MutexLock lock(&mu_);
  int64_t completed = plan_.rounds;
  for (const auto& [role, rounds] : completed_) {
    completed = std::min(completed, rounds);
  }
  return {.started_round = gate_.started(),
          .completed_rounds = completed,
          .paused = gate_.paused(),
          .stop_requested = stop_->load(),
          .finished = phase_ == Phase::kFinished};
}

void WorkerEpoch::OnReply(const HeartbeatReply& reply) {
  if (reply.pause() && !gate_.paused()) {
    gate_.Pause();
    Wake();
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
  metrics.set_rank(options_.rank);  // the role knows its position only
  {
    absl::MutexLock lock(&mu_);
    completed_[metrics.role()] = metrics.round() + 1;
  }
  const int64_t every = plan_.control.metrics_every_rounds;
  if ((metrics.round() + 1) % every == 0 ||
      metrics.round() >= gate_.last_round() || !metrics.sample_grid().empty()) {
    heartbeats_->AddMetrics(std::move(metrics));
  }
}

void WorkerEpoch::Wake() {
  absl::MutexLock lock(&mu_);
  if (phase_ == Phase::kRunning || phase_ == Phase::kFinished) {
    heartbeats_->Wake();
  } else if (phase_ == Phase::kOpening || phase_ == Phase::kJoining) {
    phase_ = Phase::kJoinCancelled;
    client_->Cancel();
  }
}

void WorkerEpoch::Enter(Phase phase) {
  absl::MutexLock lock(&mu_);
  if (!HasEnded()) phase_ = phase;
}

void WorkerEpoch::End(Phase how, absl::Status reason) {
  {
    absl::MutexLock lock(&mu_);
    if (HasEnded()) return;
    phase_ = how;
    ended_ = reason;
    if (writer_) writer_->Close(reason);  // here: it goes before the rest
  }
  if (fleet_) fleet_->Close(reason);
  if (ends_) ends_->Close(reason);
}

absl::Status WorkerEpoch::ended() const {
  absl::MutexLock lock(&mu_);
  return ended_;
}

}  // namespace gandem
