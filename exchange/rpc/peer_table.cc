// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/peer_table.h"

#include "absl/strings/str_cat.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"

namespace gandem {
namespace {

absl::Status Refuse(absl::string_view reason, absl::string_view message) {
  ErrorDetail detail;
  detail.set_reason(std::string(reason));
  return WithErrorDetail(absl::FailedPreconditionError(message), detail);
}

}  // namespace

PeerTable::PeerTable(const ExchangeOptions& options)
    : options_(options), incarnations_(options.num_generators, -1) {}

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
    return Refuse(
        "wrong_config",
        absl::StrCat("the generator runs another configuration (hash ",
                     absl::Hex(config_hash), " instead of ",
                     absl::Hex(options_.config_hash), ")"));
  }
  GANDEM_RETURN_IF_ERROR(CheckGeneratorRank(options_, peer.rank));
  if (peer.incarnation < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("generator ", peer.rank, " says that it is incarnation ",
                     peer.incarnation, ", and they count from 0"));
  }
  absl::MutexLock lock(&mu_);
  int64_t& incarnation = incarnations_[peer.rank];
  if (peer.incarnation < incarnation) {
    return Refuse(
        "superseded",
        absl::StrCat("incarnation ", peer.incarnation, " of generator ",
                     peer.rank, " was superseded by ", incarnation));
  }
  incarnation = peer.incarnation;
  return absl::OkStatus();
}

absl::Status PeerTable::Check(const Peer& peer) const {
  GANDEM_RETURN_IF_ERROR(CheckRunEpoch(peer));
  GANDEM_RETURN_IF_ERROR(CheckGeneratorRank(options_, peer.rank));
  absl::MutexLock lock(&mu_);
  if (peer.incarnation >= 0 && peer.incarnation == incarnations_[peer.rank]) {
    return absl::OkStatus();
  }
  return Refuse(
      peer.incarnation < incarnations_[peer.rank] ? "superseded" : "no_hello",
      absl::StrCat("incarnation ", peer.incarnation, " of generator ",
                   peer.rank, " is not the one that greeted, which is ",
                   incarnations_[peer.rank]));
}

}  // namespace gandem
