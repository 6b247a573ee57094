// SPDX-License-Identifier: Apache-2.0
#include "worker/fleet_link.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/operation_runner.h"
#include "common/monotonic_time.h"
#include "common/rpc/why_no_answer.h"
#include "common/security/credentials.h"
#include "common/status.h"

namespace gandem {

int PositionOnHost(const JoinReply& joined, int rank) {
  int position = 0;
  for (int other = 0; other < rank; ++other) {
    if (joined.fleet(other).host_identity() ==
        joined.fleet(rank).host_identity()) {
      ++position;
    }
  }
  return position;
}

absl::StatusOr<std::unique_ptr<FleetLink>> FleetLink::Create(
    int size, const std::string& network_address) {
  std::unique_ptr<FleetLink> link(new FleetLink());
  if (size == 1) return link;
  GANDEM_ASSIGN_OR_RETURN(link->folder_, SocketFolder::Create());
  GANDEM_ASSIGN_OR_RETURN(
      link->listener_,
      RingListener::Start({.local_address = link->folder_->AddressOf("fleet"),
                           .network_address = network_address}));
  return link;
}

FleetLink::~FleetLink() {
  // Destroyed without the lock, because closing takes a moment.
  std::unique_ptr<Collective> ring;
  std::unique_ptr<Collective> nccl;
  absl::MutexLock lock(&mu_);
  ring = std::move(ring_);
  nccl = std::move(nccl_);
}

std::string FleetLink::local_address() const {
  return listener_ == nullptr ? "" : listener_->local_address();
}

std::string FleetLink::network_address() const {
  return listener_ == nullptr ? "" : listener_->network_address();
}

absl::Status FleetLink::Connect(int rank, const JoinReply& joined,
                                int64_t membership_epoch,
                                std::function<void()> on_damage) {
  if (listener_ == nullptr) return absl::OkStatus();
  rank_ = rank;
  members_.assign(joined.fleet().begin(), joined.fleet().end());
  std::vector<RingPeer> peers;
  RunnerOptions runner;
  for (const FleetMember& member : members_) {
    runner.hosts.push_back(member.host_identity());
    peers.push_back({.host = member.host_identity(),
                     .local_address = member.local_address(),
                     .network_address = member.network_address(),
                     .incarnation = member.incarnation()});
  }
  const std::vector<bool> links =
      OperationRunner::LinksOf(runner, rank, static_cast<int>(peers.size()));
  for (int peer = 0; std::cmp_less(peer, peers.size()); ++peer) {
    if (!links[peer] || runner.hosts[peer] == runner.hosts[rank]) continue;
    absl::MutexLock lock(&mu_);
    closed_ways_.insert({{peer, true}, {peer, false}});
  }
  GANDEM_ASSIGN_OR_RETURN(
      auto ring, CreateRing(std::move(listener_),
                            {.rank = rank,
                             .peers = std::move(peers),
                             .membership_epoch = membership_epoch,
                             .on_damage = std::move(on_damage),
                             .on_open = [this](int peer, bool is_outgoing) {
                               absl::MutexLock lock(&mu_);
                               closed_ways_.erase({peer, is_outgoing});
                             }}));
  absl::MutexLock lock(&mu_);
  ring_ = std::move(ring);
  if (!closed_.ok()) ring_->Close(closed_);
  return absl::OkStatus();
}

absl::Status FleetLink::AwaitPeers(absl::Time deadline) {
  const bool is_on_one_host =
      std::ranges::all_of(members_, [this](const FleetMember& member) {
        return member.host_identity() == members_[rank_].host_identity();
      });
  if (is_on_one_host) return absl::OkStatus();
  Collective* const ring = collectives().host;
  const absl::Status met = ring->Wait(ring->Barrier(), deadline);
  if (!absl::IsDeadlineExceeded(met)) return met;
  std::set<std::pair<int, bool>> closed;
  {
    absl::MutexLock lock(&mu_);
    closed = closed_ways_;
  }
  // The coordinator detects late workers.
  return closed.empty() ? absl::OkStatus()
                        : NoWay(closed.begin()->first, closed.begin()->second);
}

absl::Status FleetLink::NoWay(int peer, bool is_outgoing) const {
  const FleetMember& to = members_[is_outgoing ? peer : rank_];
  std::string message = absl::StrCat(
      "rank ", is_outgoing ? rank_ : peer, " on host ",
      members_[is_outgoing ? rank_ : peer].host(), " does not reach rank ",
      is_outgoing ? peer : rank_, " at ", to.network_address());
  if (is_outgoing) {
    absl::StrAppend(&message, ": ",
                    WhyNoAnswer(to.network_address(), *ProcessCredentials(),
                                MonotonicNow() + kLookForReason));
  }
  return absl::DeadlineExceededError(message);
}

absl::Status FleetLink::ConnectDevices(const NcclOptions& options,
                                       absl::Time deadline) {
  Collective* const ring = collectives().host;
  GANDEM_ASSIGN_OR_RETURN(auto nccl, CreateNccl(options, ring, deadline));
  absl::MutexLock lock(&mu_);
  nccl_ = std::move(nccl);
  device_ =
      c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(options.device));
  if (!closed_.ok()) nccl_->Close(closed_);
  return absl::OkStatus();
}

FleetCollectives FleetLink::collectives() {
  absl::MutexLock lock(&mu_);
  FleetCollectives fleet(ring_.get());
  if (nccl_ != nullptr) {
    fleet.tensors = nccl_.get();
    fleet.device = device_;
  }
  return fleet;
}

int FleetLink::rank_waited_for() const {
  absl::MutexLock lock(&mu_);
  return ring_ == nullptr ? -1 : ring_->waits_for();
}

void FleetLink::Close(const absl::Status& reason) {
  absl::MutexLock lock(&mu_);
  if (closed_.ok()) closed_ = reason;
  if (ring_ != nullptr) ring_->Close(reason);
  if (nccl_ != nullptr) nccl_->Close(reason);
}

}  // namespace gandem
