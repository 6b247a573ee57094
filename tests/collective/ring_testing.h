// SPDX-License-Identifier: Apache-2.0
//
// Rings over real sockets on this host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/ring_collective.h"
#include "common/check.h"
#include "tests/collective/collective_contract.h"
#include "tests/testing/temp_dir.h"

namespace gandem::testing {

struct RingFleetOptions {
  // Host of each rank; empty: all ranks are on one host. Ranks of different
  // hosts use TCP.
  std::vector<std::string> hosts = {};
  int64_t chunk_bytes = 4096;  // too short for shared memory
  int64_t membership_epoch = 1;
};

// Listeners and the addresses that their ranks exchange.
struct RingAddresses {
  std::vector<std::unique_ptr<RingListener>> listeners;
  std::vector<RingPeer> peers;
};

inline RingAddresses Listen(int size, const TempDir& dir,
                            const RingFleetOptions& options) {
  RingAddresses result;
  for (int rank = 0; rank < size; ++rank) {
    auto listener = RingListener::Start(
        {.local_address = absl::StrCat("unix:", dir / absl::StrCat(rank)),
         .network_address = options.hosts.empty() ? "" : "127.0.0.1:0"});
    GANDEM_CHECK_OK(listener.status());
    result.peers.push_back(
        {.host = options.hosts.empty() ? "" : options.hosts[rank],
         .local_address = (*listener)->local_address(),
         .network_address = (*listener)->network_address(),
         .incarnation = 100 + rank});
    result.listeners.push_back(*std::move(listener));
  }
  return result;
}

inline std::unique_ptr<Collective> Join(RingAddresses& addresses, int rank,
                                        const RingFleetOptions& options) {
  auto ring = CreateRing(std::move(addresses.listeners[rank]),
                         {.rank = rank,
                          .peers = addresses.peers,
                          .membership_epoch = options.membership_epoch,
                          .chunk_bytes = options.chunk_bytes});
  GANDEM_CHECK_OK(ring.status());
  return *std::move(ring);
}

inline Fleet MakeRingFleet(int size, const TempDir& dir,
                           const RingFleetOptions& options) {
  RingAddresses addresses = Listen(size, dir, options);
  Fleet fleet;
  for (int rank = 0; rank < size; ++rank) {
    fleet.push_back(Join(addresses, rank, options));
  }
  return fleet;
}

}  // namespace gandem::testing
