// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/peer_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"

namespace gandem {
namespace {

absl::Status Refuse(absl::string_view reason, absl::string_view message) {
  ErrorDetail detail;
  detail.set_reason(std::string(reason));
  return WithErrorDetail(absl::FailedPreconditionError(message), detail);
}

absl::Status Superseded(const FrameSender& peer) {
  return Refuse("superseded",
                absl::StrCat("this process of generator ", peer.rank,
                             " is not the one that greeted last"));
}

}  // namespace

PeerTable::PeerTable(const ExchangeOptions& options)
    : options_(options), incarnations_(options.num_generators) {}

absl::Status PeerTable::CheckRunEpoch(const Peer& peer) const {
  if (peer.run_epoch > options_.run_epoch) {
    return absl::UnavailableError(absl::StrCat(
        "this discriminator is still in run epoch ", options_.run_epoch));
  }
  if (peer.run_epoch < options_.run_epoch) {
    return Refuse("wrong_epoch",
                  absl::StrCat("run epoch ", peer.run_epoch,
                               " is over, this is ", options_.run_epoch));
  }
  return absl::OkStatus();
}

absl::Status PeerTable::Greet(const Peer& peer, uint64_t config_hash) {
  GANDEM_RETURN_IF_ERROR(CheckRunEpoch(peer));
  if (config_hash != options_.config_hash) {
    GANDEM_LOG_WARN(
        "a generator runs another configuration (hash {:x} instead of {:x})",
        config_hash, options_.config_hash);
    return Refuse("wrong_config",
                  "the generator runs another configuration; the "
                  "discriminator's log has the hash of both");
  }
  GANDEM_RETURN_IF_ERROR(CheckGeneratorRank(options_, peer.rank));
  absl::MutexLock lock(&mu_);
  std::vector<int64_t>& greeted = incarnations_[peer.rank];
  if (!greeted.empty() && greeted.back() == peer.incarnation) {
    return absl::OkStatus();
  }
  if (std::ranges::count(greeted, peer.incarnation) > 0) {
    return Superseded(peer);
  }
  greeted.push_back(peer.incarnation);
  return absl::OkStatus();
}

absl::Status PeerTable::Check(const Peer& peer) const {
  GANDEM_RETURN_IF_ERROR(CheckRunEpoch(peer));
  GANDEM_RETURN_IF_ERROR(CheckGeneratorRank(options_, peer.rank));
  absl::MutexLock lock(&mu_);
  const std::vector<int64_t>& greeted = incarnations_[peer.rank];
  if (greeted.empty()) {
    return Refuse("no_hello",
                  absl::StrCat("generator ", peer.rank, " has not greeted"));
  }
  if (peer.incarnation == greeted.back()) return absl::OkStatus();
  return Superseded(peer);
}

}  // namespace gandem
