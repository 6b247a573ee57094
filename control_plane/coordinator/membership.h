// SPDX-License-Identifier: Apache-2.0
//
// The places of a run, the processes that hold them, and the members of the run
// epoch.
//
// A place belongs to the process with the newest incarnation that registered
// for it; this fence keeps older processes out. An epoch that starts from a
// checkpoint has all places as members. An epoch that starts from its members'
// memory is open until all of them have registered again or are lost; Seal()
// then fixes the members and the round that all have completed.
//
// Owner: the coordinator. Thread safety: one thread at a time. Uses no files
// and no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/config/worker_key.h"
#include "common/control/numerics.h"
#include "proto/checkpoint.pb.h"
#include "proto/control.pb.h"

namespace gandem {

struct Place {
  WorkerKey key;
  // The launcher's process; 0: none.
  int64_t pid = 0;
  bool death_handled = false;  // the death of process `pid`
  absl::Time kill_at = absl::InfiniteFuture();
  // The worker's incarnation; 0: no process may speak for this place.
  int64_t incarnation = 0;
  // The newest incarnation given to this place by any coordinator; 0: unknown.
  // All others are refused. Incarnations are random and have no order.
  int64_t newest = 0;
  bool newest_is_ours = false;  // given by this coordinator
  int64_t registered_from = 0;  // earlier incarnation of its process; 0: none
  int64_t epoch = 0;            // epoch that it registered for
  bool joined = false;
  bool told_to_leave = false;
  std::string host = {};           // host name
  std::string host_identity = {};  // see HostIdentityOf
  Numerics numerics = {};
  int64_t reported_pid = 0;
  std::string exchange_address = {};
  FleetMember member = {};         // its address for its fleet
  ComputeChoice compute = {};      // from its join
  HeartbeatRequest progress = {};  // newest heartbeat, without metrics
  RoundMetrics last_metrics = {};
  absl::Time waiting_since = absl::InfinitePast();  // to join the epoch
  absl::Time last_seen = absl::InfinitePast();
  // Takes part in the epoch; false is possible only in elastic runs.
  bool is_member = true;
  // The rest is from its registration since the fleets began to re-form.
  bool is_back = false;
  bool holds_state = false;
  int64_t held_rounds = 0;
};

// Workers with equal identities reach each other's unix sockets.
const std::string& HostIdentityOf(const RegisterRequest& request);

// A positive, unguessable number: only the process that got it can name it.
int64_t RandomIncarnation();

// Notes in `counters` that the registering process got `incarnation`.
void CountIncarnation(const RegisterRequest& request, int64_t incarnation,
                      RunCounters& counters);

// "generator 0 on node7"
std::string NameWithHost(const Place& place);

// The worker's position, with its waiting time extended to `now`.
WorkerPosition PositionAt(const Place& place, absl::Time now);

class Membership {
 public:
  // The state that the epoch starts from.
  enum class Source {
    kCheckpoint,
    kMemory,        // the members' memory; the members are fixed
    kMemoryIsOpen,  // the members' memory; they are still registering
  };

  // Begins without processes. `earlier`: the counters of earlier coordinators,
  // with the run epoch and the newest incarnation of each place.
  Membership(std::vector<WorkerKey> workers, const RunCounters& earlier);

  // Sorted by role and rank.
  std::vector<Place>& places() { return places_; }
  const std::vector<Place>& places() const { return places_; }
  Source source() const { return source_; }
  int64_t run_epoch() const { return run_epoch_; }

  // Null: the run has no such place.
  Place* Find(WorkerKey key);
  const Place* Find(WorkerKey key) const;
  // The place of the process that may use this incarnation.
  //   INVALID_ARGUMENT     the number is no incarnation.
  //   NOT_FOUND            an earlier coordinator may have given it; the fence
  //                        decides when its process registers again.
  //   FAILED_PRECONDITION  the process was superseded or declared dead.
  absl::StatusOr<Place*> Speaker(int64_t incarnation);
  // Checks that the process that had `incarnation` may register for the place.
  //   FAILED_PRECONDITION  another process has registered since. Or, if the
  //                        process wants to keep its memory (`keeps_state`), it
  //                        was declared dead.
  absl::Status CheckFence(const Place& place, int64_t incarnation,
                          bool keeps_state) const;
  // Whether the place's process has registered for this epoch.
  bool IsInEpoch(const Place& place) const {
    return place.incarnation != 0 && place.epoch == run_epoch_;
  }
  // Whether the process has registered for this epoch and `run_epoch` is it.
  bool IsCurrent(const Place& place, int64_t run_epoch) const {
    return run_epoch == run_epoch_ && IsInEpoch(place);
  }

  // Begins an epoch without registrations. `from_memory`: the members stay.
  void BeginEpoch(int64_t run_epoch, bool from_memory, absl::Time now);
  // Gives the place to the process, with `incarnation` and at `first_round`.
  void Admit(Place& place, const RegisterRequest& request, int64_t incarnation,
             int64_t first_round, absl::Time now);
  // Fixes the members and returns the round that the epoch starts from.
  //   UNAVAILABLE  names the members that have not registered again.
  //   NOT_FOUND    no member of a role holds its state.
  absl::StatusOr<int64_t> Seal();

  // The rank of the member at `position` of its fleet, if there is one.
  std::optional<int> RankAt(Role role, int position) const;
  // Number of members of the role, or of both roles.
  int NumMembers(std::optional<Role> role = std::nullopt) const;
  bool AllJoined() const;

 private:
  std::vector<Place> places_;
  const bool has_earlier_;  // earlier coordinators gave incarnations
  int64_t run_epoch_;
  Source source_ = Source::kCheckpoint;
};

}  // namespace gandem
