// SPDX-License-Identifier: Apache-2.0
//
// Known generators, and checks of config, run epoch and incarnation for all
// calls and frames (design.md section 8). A new incarnation's Hello supersedes
// the rank's earlier process. Refusals do not reveal the accepted values.
//
// Owner: ExchangeServer. Thread safety: any thread.
// Errors:
//   INVALID_ARGUMENT     no such rank
//   FAILED_PRECONDITION  another config, an old run epoch, a superseded
//                        incarnation, or no Hello yet; ErrorDetail names the
//                        reason
//   UNAVAILABLE          a newer run epoch: this server is about to stop
#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "exchange/exchange_options.h"
#include "exchange/wire_codec.h"

namespace gandem {

class PeerTable {
 public:
  using Peer = FrameSender;

  explicit PeerTable(const ExchangeOptions& options);

  absl::Status Greet(const Peer& peer, uint64_t config_hash);
  // Returns OK if the peer has greeted and is not superseded.
  absl::Status Check(const Peer& peer) const;

 private:
  absl::Status CheckRunEpoch(const Peer& peer) const;

  const ExchangeOptions options_;

  mutable absl::Mutex mu_;
  // By rank: incarnations in order of greeting. Only the last may send frames.
  std::vector<std::vector<int64_t>> incarnations_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
