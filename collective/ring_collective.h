// SPDX-License-Identifier: Apache-2.0
//
// A Collective between processes, over gRPC: unix sockets between ranks of one
// host, TCP between hosts. A rank listens, tells the coordinator where, and
// gets the others' addresses and incarnations from it:
//
//   listener = RingListener::Start(...)
//   ... register local_address() and network_address(), hear of the others ...
//   collective = CreateRing(std::move(listener), {.rank = ..., .peers = ...})
//
// Every message names the sender's incarnation and the membership epoch; other
// ones are refused, see ring_core.h. A membership that has failed is over: the
// next one has a new listener and a higher epoch, in the same processes if they
// like.
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

  //   INVALID_ARGUMENT  no address at all.
  //   other errors      RpcServer::Start's: why it cannot listen.
  static absl::StatusOr<std::unique_ptr<RingListener>> Start(
      const Options& options);
  virtual ~RingListener() = default;

  // Addresses, with the port that the system chose; empty if the listener does
  // not use that kind of address.
  virtual std::string local_address() const = 0;
  virtual std::string network_address() const = 0;
};

struct RingPeer {
  std::string host = {};           // ranks with the same text share a host
  std::string local_address = {};  // for ranks of its host
  // Address for ranks of other hosts, or if local_address is empty or
  // unreachable.
  std::string network_address = {};
  int64_t incarnation = 0;
};

struct RingOptions {
  int rank = -1;                     // required
  std::vector<RingPeer> peers = {};  // required; all ranks
  int64_t membership_epoch = 0;
  int64_t chunk_bytes = kRingChunkBytes;  // at most; a multiple of 8
  // Payloads between ranks of one host need not go through a socket.
  bool shares_memory = true;
  // Hears of each message that arrived damaged; may be empty. From any thread.
  std::function<void()> on_damage = {};
  // Hears that messages pass from this rank to `peer` (`is_outgoing`), or from
  // it; may be empty. From any thread.
  std::function<void(int peer, bool is_outgoing)> on_open = {};
};

// Connects in the background; the Wait of a first Barrier says when all are
// there, or whom it waits for.
//   INVALID_ARGUMENT  there is no such rank, or a rank has no address.
absl::StatusOr<std::unique_ptr<Collective>> CreateRing(
    std::unique_ptr<RingListener> listener, const RingOptions& options);

}  // namespace gandem
