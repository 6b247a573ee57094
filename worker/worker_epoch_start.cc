// SPDX-License-Identifier: Apache-2.0
//
// Steps of an epoch before its first round; worker_epoch.cc has the rounds.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/control/limits.h"
#include "common/monotonic_time.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "training/compute/choose_compute.h"
#include "worker/worker_epoch.h"

namespace gandem {
namespace {

// Limit for a missing coordinator. A running coordinator handles late workers.
constexpr int kPatientJoins = kMeasuringJoins + 2;
// Longer than the time to make a removed socket folder again.
constexpr absl::Duration kSocketPatience = absl::Seconds(10);
// Time limit for the first message between two workers. Chosen: a user who
// waits longer at round 0 suspects another problem.
constexpr absl::Duration kLinkPatience = absl::Seconds(60);

}  // namespace

absl::Status WorkerEpoch::OpenEnds() {
  if (uses_nccl_) GANDEM_RETURN_IF_ERROR(CheckNccl());
  GANDEM_RETURN_IF_ERROR(ChooseComputes());
  GANDEM_ASSIGN_OR_RETURN(
      auto fleet, FleetLink::Create(fleet_size_, options_.fleet_listen));
  GANDEM_ASSIGN_OR_RETURN(
      auto ends, ExchangeEnds::Create(options_.role, ExchangeAt(plan_, place_),
                                      options_.exchange_listen));
  absl::MutexLock lock(&mu_);
  fleet_ = std::move(fleet);
  ends_ = std::move(ends);
  return absl::OkStatus();
}

absl::Status WorkerEpoch::ChooseComputes() {
  const RunPlan plan = WithDevices(plan_, /*position=*/0);
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    // All ranks use the choice of the first rank.
    if (!Plays(role) || place_.rank > 0) continue;
    if (assignment_.keep_state()) {
      choices_[role] = assignment_.compute();
      continue;
    }
    const NetworkPlan& network = plan.role(role).network;
    const std::string measured_for =
        IsAuto(network) ? MeasuredFor(network) : "";
    if (IsAuto(network)) waits_.Begin(WorkerPosition::MEASURE);
    GANDEM_ASSIGN_OR_RETURN(choices_[role],
                            ChooseCompute(network, assignment_.resume_from(),
                                          ChosenBefore(role, measured_for)));
    waits_.End();
    if (measured_for.empty()) continue;
    RoleCompute& chosen = chosen_.emplace_back();
    chosen.set_role(role);
    *chosen.mutable_choice() = choices_[role];
    chosen.set_measured_for(measured_for);
  }
  return absl::OkStatus();
}

std::optional<ComputeChoice> WorkerEpoch::ChosenBefore(
    Role role, const std::string& measured_for) const {
  for (const RoleCompute& chosen : assignment_.chosen()) {
    if (chosen.role() == role && chosen.measured_for() == measured_for) {
      return chosen.choice();
    }
  }
  return std::nullopt;
}

absl::StatusOr<JoinReply> WorkerEpoch::JoinOthers() {
  Enter(Phase::kJoining);
  JoinRequest ready;
  absl::StatusOr<std::string> proof =
      RunFolder(assignment_.run_dir()).ReadProof(assignment_.proof_file());
  if (!proof.ok()) {
    // The proof was readable in an earlier run epoch, so its mount may return.
    return IsFirstEpoch() ? proof.status()
                          : absl::DataLossError(proof.status().message());
  }
  ready.set_proof(*std::move(proof));
  ready.set_exchange_address(ends_->address());
  ready.set_fleet_local_address(fleet_->local_address());
  ready.set_fleet_network_address(fleet_->network_address());
  *ready.mutable_compute() =
      choices_[options_.role == COLOCATED ? DISCRIMINATOR : options_.role];
  ready.mutable_chosen()->Assign(chosen_.begin(), chosen_.end());
  const bool may_measure =
      IsAuto(plan_.generator.network) || IsAuto(plan_.discriminator.network);
  absl::StatusOr<JoinReply> joined = client_->Join(
      std::move(ready), MonotonicNow() + plan_.control.join_timeout *
                                             (may_measure ? kPatientJoins : 1));
  absl::MutexLock lock(&mu_);
  if (phase_ == Phase::kJoinCancelled) {
    return absl::CancelledError("stopped before the start");
  }
  if (HasEnded()) return ended_;
  if (joined.ok()) phase_ = Phase::kRunning;
  return joined;
}

absl::Status WorkerEpoch::ConnectToOthers(const JoinReply& joined,
                                          const RunPlan& plan) {
  // Time within which the coordinator declares a missing worker dead. Until
  // then its silence does not mean a fault of the network or of this process.
  const absl::Duration verdict =
      plan.control.heartbeat_timeout + 2 * plan.control.heartbeat;
  // Damage on a link is not damage to a file.
  const auto on_damage = [damage = link_damage_] { *damage = true; };
  GANDEM_RETURN_IF_ERROR(
      fleet_->Connect(place_.rank, joined, place_.run_epoch, on_damage));
  GANDEM_RETURN_IF_ERROR(ends_->Connect(
      {joined.discriminator_addresses().begin(),
       joined.discriminator_addresses().end()},
      MonotonicNow() + std::max(kSocketPatience, verdict), on_damage));
  GANDEM_RETURN_IF_ERROR(AwaitPeers(
      std::max(std::min(kLinkPatience, plan.control.join_timeout), verdict)));
  if (!uses_nccl_) return absl::OkStatus();
  const at::Device device(plan.role(options_.role).network.device);
  return fleet_->ConnectDevices(
      {.device = device.index(), .interrupted = [this] { return ended(); }},
      MonotonicNow() + plan.control.join_timeout);
}

absl::Status WorkerEpoch::AwaitPeers(absl::Duration patience) {
  const absl::Time deadline = MonotonicNow() + patience;
  absl::Status reached = fleet_->AwaitPeers(deadline);
  if (reached.ok()) reached = ends_->AwaitPeers(deadline);
  if (!absl::IsDeadlineExceeded(reached)) return reached;
  const std::string message = absl::StrCat(
      std::string(reached.message()), ", for ", absl::FormatDuration(patience),
      "; open the port in that host's firewall, and see that its "
      "name resolves (`gandem doctor --host` checks both)");
  // Messages have passed in earlier epochs, so the link may recover.
  return IsFirstEpoch() ? absl::FailedPreconditionError(message)
                        : absl::UnavailableError(message);
}

void WorkerEpoch::StartHeartbeats() {
  const bool writes_config = place_.rank == 0 && Plays(GENERATOR);
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
      [this](ShardReport report) {
        heartbeats_->AddShard(std::move(report));
        AwaitOlderCheckpoints();
      });
  heartbeats_ = std::make_unique<Heartbeats>(
      client_,
      Heartbeats::Options{
          .interval = plan_.control.heartbeat,
          .waits = &waits_,
          .state = [this] { return CurrentState(); },
          .on_reply = [this](const HeartbeatReply& reply) { OnReply(reply); },
          .on_end =
              [this](const absl::Status& reason) {
                End(Phase::kFailed, reason);
              }});
}

}  // namespace gandem
