// SPDX-License-Identifier: Apache-2.0
//
// Who holds the places of a run, and who takes part in its run epoch.
//
// A place belongs to the process of the newest incarnation that registered for
// it: the fence, which older processes do not pass. An epoch that starts from a
// checkpoint has all places as members. One that starts from what its members
// hold in memory is open until all of them have come back or are lost; the seal
// then fixes who they are and the round that all have completed.
//
// Owner: the coordinator. Thread safety: one thread at a time. It knows neither
// files nor clocks.
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
  // The launcher's view; 0: no process.
  int64_t pid = 0;
  bool death_handled = false;  // of this process
  absl::Time kill_at = absl::InfiniteFuture();
  // The worker's own. incarnation 0: nobody may speak for this place.
  int64_t incarnation = 0;
  // The last that was given to a process of this place, by any coordinator; 0:
  // none is known. All others are refused: incarnations are random, the order
  // is that in which they were given.
  int64_t newest = 0;
  bool newest_is_ours = false;  // this coordinator has given it
  int64_t registered_from = 0;  // that its process had before; 0: none
  int64_t epoch = 0;            // that it registered for
  bool joined = false;
  bool told_to_leave = false;
  std::string host = {};           // its name
  std::string host_identity = {};  // see HostIdentityOf
  Numerics numerics = {};
  int64_t reported_pid = 0;
  std::string exchange_address = {};
  FleetMember member = {};         // where others of its role find it
  ComputeChoice compute = {};      // as it has joined
  HeartbeatRequest progress = {};  // the newest one, without metrics
  RoundMetrics last_metrics = {};
  absl::Time waiting_since = absl::InfinitePast();  // to join the epoch
  absl::Time last_seen = absl::InfinitePast();
  // Takes part in the epoch. Only elastic runs have workers that do not.
  bool is_member = true;
  // What it has said since the fleets began to re-form.
  bool is_back = false;
  bool holds_state = false;
  int64_t held_rounds = 0;
};

// Two workers of one identity reach each other's unix sockets.
const std::string& HostIdentityOf(const RegisterRequest& request);

// A positive number that nobody can guess: who names it is who was given it.
int64_t RandomIncarnation();

// It goes to who registers.
void CountIncarnation(const RegisterRequest& request, int64_t incarnation,
                      RunCounters& counters);

// "generator 0 on node7"
std::string NameWithHost(const Place& place);

// What the worker waits for, with the time since its last heartbeat.
WorkerPosition PositionAt(const Place& place, absl::Time now);

class Membership {
 public:
  // From what the epoch starts.
  enum class Source {
    kCheckpoint,
    kMemory,        // of its members, who are known
    kMemoryIsOpen,  // they come back, and none has been told its position yet
  };

  // Nobody is there. `earlier` counts the incarnations that earlier
  // coordinators have given, whose epoch this is, and knows the newest of each
  // place.
  Membership(std::vector<WorkerKey> workers, const RunCounters& earlier);

  // Sorted by role and rank.
  std::vector<Place>& places() { return places_; }
  const std::vector<Place>& places() const { return places_; }
  Source source() const { return source_; }
  int64_t run_epoch() const { return run_epoch_; }

  // Null: the run has no such place.
  Place* Find(WorkerKey key);
  const Place* Find(WorkerKey key) const;
  // Of the process that may use this incarnation.
  //   INVALID_ARGUMENT     it is no incarnation.
  //   NOT_FOUND            an earlier coordinator may have given it: the fence
  //                        decides when its process registers again.
  //   FAILED_PRECONDITION  it was superseded or declared dead.
  absl::StatusOr<Place*> Speaker(int64_t incarnation);
  // Whether who had `incarnation` may register for the place.
  //   FAILED_PRECONDITION  another process has since, or, if its memory would
  //                        count (`keeps_state`), it was declared dead.
  absl::Status CheckFence(const Place& place, int64_t incarnation,
                          bool keeps_state) const;
  // Whether its process has registered for this epoch.
  bool IsInEpoch(const Place& place) const {
    return place.incarnation != 0 && place.epoch == run_epoch_;
  }
  // Whether its process speaks of this epoch, which it has registered for.
  bool IsCurrent(const Place& place, int64_t run_epoch) const {
    return run_epoch == run_epoch_ && IsInEpoch(place);
  }

  // Nobody has registered for it yet. `from_memory`: the members stay.
  void BeginEpoch(int64_t run_epoch, bool from_memory, absl::Time now);
  // The process gets the place, with `incarnation` and at `first_round`.
  void Admit(Place& place, const RegisterRequest& request, int64_t incarnation,
             int64_t first_round, absl::Time now);
  // The round that the epoch starts from; members are known from now on.
  //   UNAVAILABLE  names the members that have not come back.
  //   NOT_FOUND    no member of a role holds its state.
  absl::StatusOr<int64_t> Seal();

  // The rank of the member at `position` of its fleet, if there is one.
  std::optional<int> RankAt(Role role, int position) const;
  // Members of the role, or all.
  int NumMembers(std::optional<Role> role = std::nullopt) const;
  bool AllJoined() const;

 private:
  std::vector<Place> places_;
  const bool has_earlier_;  // incarnations, of earlier coordinators
  int64_t run_epoch_;
  Source source_ = Source::kCheckpoint;
};

}  // namespace gandem
