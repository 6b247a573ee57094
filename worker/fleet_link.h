// SPDX-License-Identifier: Apache-2.0
//
// A worker's part of its fleet for one run epoch: listens for the other ranks
// of its role, and becomes their Collective when all have joined, or two where
// NCCL sums between GPUs. The only worker of a role has none.
//
// Owner: WorkerEpoch. Thread safety: Close from any thread, the rest from the
// compute thread.
// Errors: of listening (RingListener::Start) and of connecting (CreateRing,
// CreateNccl).
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

// Position of the worker `rank` among the workers of its role on its host.
int PositionOnHost(const JoinReply& joined, int rank);

class FleetLink {
 public:
  // Listens, in a fleet of several; at `network_address` for workers of other
  // hosts, if it is not empty.
  static absl::StatusOr<std::unique_ptr<FleetLink>> Create(
      int size, const std::string& network_address);
  ~FleetLink();

  // Addresses to report to the coordinator; empty in a fleet of one.
  std::string local_address() const;
  std::string network_address() const;

  // Called once, when all have joined. Connects in the background.
  // `on_damage`: see RingOptions.
  absl::Status Connect(int rank, const JoinReply& joined,
                       int64_t membership_epoch,
                       std::function<void()> on_damage);
  // Called after Connect. Waits until messages pass in both directions between
  // this worker and each of its fleet on another host; the others wait, too.
  //   DEADLINE_EXCEEDED  names a direction in which none pass, and its hosts.
  absl::Status AwaitPeers(absl::Time deadline);
  // Called after Connect, where sums are NCCL's, between the ranks' devices.
  // Waits for the other ranks.
  absl::Status ConnectDevices(const NcclOptions& options, absl::Time deadline);
  // Null before Connect, and in a fleet of one.
  FleetCollectives collectives();

  // Position of the worker whose part of a sum this one waits for just now; -1:
  // it waits for none.
  int rank_waited_for() const;

  // Fails all operations.
  void Close(const absl::Status& reason);

 private:
  FleetLink() = default;

  // Error for a failed connection from this rank to `peer` (`is_outgoing`), or
  // from `peer` to this rank.
  absl::Status NoWay(int peer, bool is_outgoing) const;

  std::unique_ptr<SocketFolder> folder_;
  std::unique_ptr<RingListener> listener_;  // until Connect
  int rank_ = 0;                            // from Connect on, as the next
  std::vector<FleetMember> members_;        // by rank
  mutable absl::Mutex mu_;
  // Links between this rank and ranks of other hosts on which no message has
  // passed, as of NoWay().
  std::set<std::pair<int, bool>> closed_ways_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Collective> ring_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Collective> nccl_ ABSL_GUARDED_BY(mu_);
  c10::Device device_ ABSL_GUARDED_BY(mu_) = c10::kCPU;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
