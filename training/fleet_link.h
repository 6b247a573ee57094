// SPDX-License-Identifier: Apache-2.0
//
// A worker's part of its fleet for one run epoch: listens for the other ranks
// of its role, and becomes their Collective when all have joined. The only
// worker of a role has none.
//
// Owner: WorkerEpoch. Thread safety: Close from any thread, the rest from the
// compute thread.
// Errors: of listening (RingListener::Start) and of connecting (CreateRing).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "collective/collective.h"
#include "collective/ring_collective.h"
#include "common/rpc/socket_folder.h"

namespace gandem {

// Where a worker listens for the others of its role.
struct FleetListen {
  std::string network_address = {};  // empty: for workers on this host only
  bool insecure_network = false;     // see CheckListenAddress
};

class FleetLink {
 public:
  // Listens, in a fleet of several.
  static absl::StatusOr<std::unique_ptr<FleetLink>> Create(
      int size, const FleetListen& listen);
  ~FleetLink();

  // For the coordinator; empty in a fleet of one.
  std::string local_address() const;
  std::string network_address() const;

  // Called once, when all have joined. Connects in the background.
  absl::Status Connect(int rank, std::vector<RingPeer> peers,
                       int64_t membership_epoch);
  // Null before Connect, and in a fleet of one.
  Collective* collective();

  // Fails all operations.
  void Close(const absl::Status& reason);

 private:
  FleetLink() = default;

  std::unique_ptr<SocketFolder> folder_;
  std::unique_ptr<RingListener> listener_;  // until Connect
  absl::Mutex mu_;
  std::unique_ptr<Collective> collective_ ABSL_GUARDED_BY(mu_);
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
