// SPDX-License-Identifier: Apache-2.0
#include "worker/fleet_link.h"

#include <utility>
#include <vector>

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
  // Saying goodbye takes a moment, for which nothing is locked.
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

absl::Status FleetLink::Connect(
    int rank, const JoinReply& joined, int64_t membership_epoch,
    std::function<void(int peer, bool is_outgoing)> on_damage) {
  if (listener_ == nullptr) return absl::OkStatus();
  std::vector<RingPeer> peers;
  for (const FleetMember& member : joined.fleet()) {
    peers.push_back({.host = member.host_identity(),
                     .local_address = member.local_address(),
                     .network_address = member.network_address(),
                     .incarnation = member.incarnation()});
  }
  GANDEM_ASSIGN_OR_RETURN(
      auto ring,
      CreateRing(std::move(listener_), {.rank = rank,
                                        .peers = std::move(peers),
                                        .membership_epoch = membership_epoch,
                                        .on_damage = std::move(on_damage)}));
  absl::MutexLock lock(&mu_);
  ring_ = std::move(ring);
  if (!closed_.ok()) ring_->Close(closed_);
  return absl::OkStatus();
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
