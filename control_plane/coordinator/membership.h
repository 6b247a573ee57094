// SPDX-License-Identifier: Apache-2.0
//
// Places of a run, their processes, and the members of the run epoch.
//
// A place belongs to the process with the newest incarnation that registered
// for it; this fence keeps older processes out. An epoch that starts from a
// checkpoint has all places as members. An epoch that starts from its members'
// memory is open until all of them have registered again or are lost. Seal()
// then fixes the members and the last round that all of them completed.
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
  // Process started by the launcher; 0: none.
  int64_t pid = 0;
  bool death_handled = false;  // the death of process `pid`
  absl::Time kill_at = absl::InfiniteFuture();
  // Incarnation of the worker that holds the place; 0: none.
  int64_t incarnation = 0;
  // Newest incarnation that any coordinator gave this place; 0: unknown. Others
  // are refused. Incarnations are random and unordered.
  int64_t newest = 0;
  bool newest_is_ours = false;  // assigned by this coordinator
  int64_t registered_from = 0;  // earlier incarnation of the process; 0: none
  int64_t epoch = 0;            // epoch of the registration
  bool joined = false;
  bool told_to_leave = false;
  std::string host = {};           // host name
  std::string host_identity = {};  // see HostIdentityOf
  Numerics numerics = {};
  int64_t reported_pid = 0;
  std::string exchange_address = {};
  FleetMember member = {};         // its address within its fleet
  ComputeChoice compute = {};      // reported when it joined
  HeartbeatRequest progress = {};  // newest heartbeat, without metrics
  RoundMetrics last_metrics = {};
  absl::Time waiting_since = absl::InfinitePast();  // to join the epoch
  absl::Time last_seen = absl::InfinitePast();
  // Whether the worker takes part in the epoch. False only in elastic runs.
  bool is_member = true;
  // Registration since the fleets began to re-form.
  bool is_back = false;
  bool holds_state = false;
  int64_t held_rounds = 0;
};

// Returns the identity of the worker's host. Workers with equal identities can
// reach each other's unix sockets.
const std::string& HostIdentityOf(const RegisterRequest& request);

// Returns a positive number that other processes cannot guess.
int64_t RandomIncarnation();

// Records in `counters` that the registering process got `incarnation`.
void CountIncarnation(const RegisterRequest& request, int64_t incarnation,
                      RunCounters& counters);

// Example: "generator 0 on node7".
std::string NameWithHost(const Place& place);

// Returns the worker's position, with its waiting time extended to `now`.
WorkerPosition PositionAt(const Place& place, absl::Time now);

class Membership {
 public:
  // State that the epoch starts from.
  enum class Source {
    kCheckpoint,
    kMemory,        // the members' memory; the members are fixed
    kMemoryIsOpen,  // the members' memory; members still register
  };

  // Creates places without processes. `earlier`: counters of earlier
  // coordinators, with the run epoch and the newest incarnation of each place.
  Membership(std::vector<WorkerKey> workers, const RunCounters& earlier);

  // Sorted by role and rank.
  std::vector<Place>& places() { return places_; }
  const std::vector<Place>& places() const { return places_; }
  Source source() const { return source_; }
  int64_t run_epoch() const { return run_epoch_; }

  Place* Find(WorkerKey key);
  const Place* Find(WorkerKey key) const;
  // Returns the place that the incarnation belongs to.
  //   INVALID_ARGUMENT     the number is not an incarnation
  //   NOT_FOUND            an earlier coordinator may have assigned it; its
  //       process has to register again
  //   FAILED_PRECONDITION  the process was superseded or declared dead
  absl::StatusOr<Place*> Speaker(int64_t incarnation);
  // Checks that the process that had `incarnation` may register for the place.
  // `keeps_state`: the process wants to keep the state in its memory.
  //   FAILED_PRECONDITION  another process has registered since, or a process
  //       with `keeps_state` was declared dead
  absl::Status CheckFence(const Place& place, int64_t incarnation,
                          bool keeps_state) const;
  bool IsInEpoch(const Place& place) const {
    return place.incarnation != 0 && place.epoch == run_epoch_;
  }
  // Returns whether `run_epoch` is this epoch and the process has registered.
  bool IsCurrent(const Place& place, int64_t run_epoch) const {
    return run_epoch == run_epoch_ && IsInEpoch(place);
  }

  // Begins an epoch without registrations. `from_memory` keeps the members.
  void BeginEpoch(int64_t run_epoch, bool from_memory, absl::Time now);
  // Gives the place to the process, which starts at `first_round`.
  void Admit(Place& place, const RegisterRequest& request, int64_t incarnation,
             int64_t first_round, absl::Time now);
  // Fixes the members and returns the round that the epoch starts from.
  //   UNAVAILABLE  members have not registered again; the message names them
  //   NOT_FOUND    no member of a role holds its state
  absl::StatusOr<int64_t> Seal();

  std::optional<int> RankAt(Role role, int position) const;
  // Returns the number of members of the role, or of both roles.
  int NumMembers(std::optional<Role> role = std::nullopt) const;
  bool AllJoined() const;

 private:
  std::vector<Place> places_;
  const bool has_earlier_;  // earlier coordinators assigned incarnations
  int64_t run_epoch_;
  Source source_ = Source::kCheckpoint;
};

}  // namespace gandem
