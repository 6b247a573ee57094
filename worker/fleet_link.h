// SPDX-License-Identifier: Apache-2.0
//
// A worker's part of its fleet in one run epoch. Listens for the other ranks of
// its role, and provides the Collective (two if NCCL sums between GPUs) when
// all have joined. Empty for the only worker of a role.
//
// Owner: WorkerEpoch. Thread safety: Close from any thread, all others from the
// compute thread.
// Errors: those of RingListener::Start, CreateRing and CreateNccl.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "collective/collective.h"
#include "collective/nccl_collective.h"
#include "collective/ring_collective.h"
#include "common/rpc/socket_folder.h"
#include "proto/control.pb.h"
#include "training/fleet/fleet_collectives.h"

namespace gandem {

// Returns the position of worker `rank` among the workers of its role and host.
int PositionOnHost(const JoinReply& joined, int rank);

class FleetLink {
 public:
  // Listens if the fleet has several workers, also at a nonempty address.
  static absl::StatusOr<std::unique_ptr<FleetLink>> Create(
      int size, const std::string& network_address);
  ~FleetLink();

  // Addresses for the coordinator; empty in a fleet of one.
  std::string local_address() const;
  std::string network_address() const;

  // Called once, when all workers have joined. Connects in the background.
  // `on_damage`: see RingOptions.
  absl::Status Connect(int rank, const JoinReply& joined,
                       int64_t membership_epoch,
                       std::function<void()> on_damage);
  // Called after Connect by all ranks. Waits until messages pass in both
  // directions between this worker and its fleet's workers on other hosts.
  //   DEADLINE_EXCEEDED  names a direction without messages, and its hosts
  absl::Status AwaitPeers(absl::Time deadline);
  // Called after Connect if NCCL sums. Waits for the other ranks.
  absl::Status ConnectDevices(const NcclOptions& options, absl::Time deadline);
  // Null before Connect, and in a fleet of one.
  FleetCollectives collectives();

  // Returns the rank whose part of a sum is awaited at the moment, or -1.
  int rank_waited_for() const;

  // Fails all operations.
  void Close(const absl::Status& reason);

 private:
  FleetLink() = default;

  // Returns the error for a failed connection from this rank to `peer`
  // (`is_outgoing`), or from `peer` to this rank.
  absl::Status NoWay(int peer, bool is_outgoing) const;

  std::unique_ptr<SocketFolder> folder_;
  std::unique_ptr<RingListener> listener_;  // until Connect
  // Both set by Connect.
  int rank_ = 0;
  std::vector<FleetMember> members_;  // by rank
  mutable absl::Mutex mu_;
  // Links between this rank and ranks of other hosts without messages so far,
  // as arguments of NoWay().
  std::set<std::pair<int, bool>> closed_ways_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Collective> ring_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Collective> nccl_ ABSL_GUARDED_BY(mu_);
  c10::Device device_ ABSL_GUARDED_BY(mu_) = c10::kCPU;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
