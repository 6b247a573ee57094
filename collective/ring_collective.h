// SPDX-License-Identifier: Apache-2.0
//
// Collective between processes over gRPC: unix sockets between ranks of one
// host, TCP between hosts. A rank listens, reports its addresses to the
// coordinator and gets the other ranks' addresses and incarnations:
//
//   listener = RingListener::Start(...)
//   ... register local_address() and network_address(), hear of the others ...
//   collective = CreateRing(std::move(listener), {.rank = ..., .peers = ...})
//
// Each message contains the sender's incarnation and the membership epoch;
// others are refused (ring_core.h). A failure ends the membership; the next one
// has a new listener and a higher epoch, possibly in the same processes.
//
// Owner: the worker, for one membership.
// Thread safety and errors: collective.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collective/collective.h"
#include "common/process/ring_limits.h"

namespace gandem {

class RingListener {
 public:
  struct Options {
    // "unix:/path", for ranks of this host; empty: none.
    std::string local_address = {};
    // "host:port", for ranks of other hosts; empty: none.
    std::string network_address = {};
  };

  //   INVALID_ARGUMENT  no address is given
  //   other             those of RpcServer::Start
  static absl::StatusOr<std::unique_ptr<RingListener>> Start(
      const Options& options);
  virtual ~RingListener() = default;

  // Addresses with the port chosen by the system; empty if unused.
  virtual std::string local_address() const = 0;
  virtual std::string network_address() const = 0;
};

struct RingPeer {
  std::string host = {};           // equal texts: same host
  std::string local_address = {};  // for ranks of the same host
  // For ranks of other hosts, or if local_address is empty or unreachable.
  std::string network_address = {};
  int64_t incarnation = 0;
};

struct RingOptions {
  int rank = -1;                     // required
  std::vector<RingPeer> peers = {};  // required; all ranks
  int64_t membership_epoch = 0;
  int64_t chunk_bytes = kRingChunkBytes;  // at most; a multiple of 8
  // Payloads between ranks of one host may use shared memory.
  bool shares_memory = true;
  // Called for each damaged message, from any thread; may be empty.
  std::function<void()> on_damage = {};
  // Called from any thread when messages pass from this rank to `peer`
  // (`is_outgoing`) or back; may be empty.
  std::function<void(int peer, bool is_outgoing)> on_open = {};
};

// Connects in the background. A first Barrier ends when all are connected.
//   INVALID_ARGUMENT  an invalid rank, or a rank without address
absl::StatusOr<std::unique_ptr<Collective>> CreateRing(
    std::unique_ptr<RingListener> listener, const RingOptions& options);

}  // namespace gandem
