// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/membership.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"

namespace gandem {

const std::string& HostIdentityOf(const RegisterRequest& request) {
  return request.host_identity().empty() ? request.host()
                                         : request.host_identity();
}

std::string NameWithHost(const Place& place) {
  return absl::StrCat(ToString(place.key), " on ", place.host);
}

WorkerPosition PositionAt(const Place& place, absl::Time now) {
  WorkerPosition position = place.progress.position();
  position.set_seconds(
      position.seconds() +
      std::max(0.0, absl::ToDoubleSeconds(now - place.last_seen)));
  return position;
}

int64_t RandomIncarnation() {
  uint64_t bits = 0;
  do {
    GANDEM_CHECK(getentropy(&bits, sizeof(bits)) == 0);
    bits >>= 1;  // positive
  } while (bits == 0);
  return static_cast<int64_t>(bits);
}

void CountIncarnation(const RegisterRequest& request, int64_t incarnation,
                      RunCounters& counters) {
  counters.set_incarnation(counters.incarnation() + 1);
  const auto found =
      std::ranges::find_if(*counters.mutable_places(), [&](const auto& place) {
        return place.role() == request.role() && place.rank() == request.rank();
      });
  PlaceIncarnation& place = found == counters.mutable_places()->end()
                                ? *counters.add_places()
                                : *found;
  place.set_role(request.role());
  place.set_rank(request.rank());
  place.set_incarnation(incarnation);
  place.set_registered_from(request.previous_incarnation());
}

Membership::Membership(std::vector<WorkerKey> workers,
                       const RunCounters& earlier)
    : has_earlier_(earlier.incarnation() > 0), run_epoch_(earlier.run_epoch()) {
  std::sort(workers.begin(), workers.end());
  for (const WorkerKey key : workers) places_.emplace_back().key = key;
  for (const PlaceIncarnation& known : earlier.places()) {
    Place* const place = Find({known.role(), known.rank()});
    if (place == nullptr) continue;  // the run had more workers before
    place->newest = known.incarnation();
    place->registered_from = known.registered_from();
  }
}

const Place* Membership::Find(WorkerKey key) const {
  const auto found = std::ranges::find(places_, key, &Place::key);
  return found == places_.end() ? nullptr : &*found;
}

Place* Membership::Find(WorkerKey key) {
  return const_cast<Place*>(std::as_const(*this).Find(key));
}

absl::StatusOr<Place*> Membership::Speaker(int64_t incarnation) {
  if (incarnation <= 0) {
    return absl::InvalidArgumentError("the message carries no incarnation");
  }
  const auto found =
      std::ranges::find(places_, incarnation, &Place::incarnation);
  if (found != places_.end()) return &*found;
  if (has_earlier_) {
    return absl::NotFoundError("the incarnation is of an earlier coordinator");
  }
  return absl::FailedPreconditionError(
      "the incarnation was superseded or declared dead: another process has "
      "registered with its role and rank, or it was silent for too long");
}

absl::Status Membership::CheckFence(const Place& place, int64_t incarnation,
                                    bool keeps_state) const {
  if (incarnation == 0 || incarnation == place.incarnation ||
      incarnation == place.registered_from) {
    return absl::OkStatus();
  }
  // Deaths declared by an earlier coordinator are unknown to this one.
  const bool may_be_dead = keeps_state && place.newest_is_ours;
  const bool is_newest = place.newest == 0 || incarnation == place.newest;
  if (is_newest && !may_be_dead) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the incarnation of ", ToString(place.key),
                   " was superseded or declared dead"));
}

void Membership::BeginEpoch(int64_t run_epoch, bool from_memory,
                            absl::Time now) {
  run_epoch_ = run_epoch;
  source_ = from_memory ? Source::kMemoryIsOpen : Source::kCheckpoint;
  for (Place& place : places_) {
    place.joined = false;
    place.is_back = false;
    place.waiting_since = now;
    if (!from_memory) place.is_member = true;
  }
}

void Membership::Admit(Place& place, const RegisterRequest& request,
                       int64_t incarnation, int64_t first_round,
                       absl::Time now) {
  place.registered_from = request.previous_incarnation();
  place.incarnation = place.newest = incarnation;
  place.newest_is_ours = true;
  place.epoch = run_epoch_;
  place.joined = false;
  place.exchange_address.clear();
  place.member.Clear();
  place.host = request.host();
  place.host_identity = HostIdentityOf(request);
  place.numerics = {request.numerics().begin(), request.numerics().end()};
  place.reported_pid = request.pid();
  place.progress.Clear();
  place.progress.set_started_round(first_round - 1);
  place.progress.set_completed_rounds(first_round);
  place.last_seen = place.waiting_since = now;
}

absl::StatusOr<int64_t> Membership::Seal() {
  std::vector<std::string> missing;
  std::optional<int64_t> first_round;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    bool is_held = false;
    for (const Place& place : places_) {
      if (!place.is_member || place.key.role != role) continue;
      if (!place.is_back) {
        missing.push_back(ToString(place.key));
      } else if (place.holds_state) {
        is_held = true;
        first_round = std::min(first_round.value_or(place.held_rounds),
                               place.held_rounds);
      }
    }
    if (missing.empty() && !is_held) {
      return absl::NotFoundError(
          absl::StrCat("no ", RoleName(role), " has a state any more"));
    }
  }
  if (!missing.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "the fleets re-form and wait for ", absl::StrJoin(missing, ", ")));
  }
  source_ = Source::kMemory;
  return *first_round;
}

std::optional<int> Membership::RankAt(Role role, int position) const {
  for (const Place& place : places_) {  // in the order of ranks
    if (!place.is_member || place.key.role != role) continue;
    if (position-- == 0) return place.key.rank;
  }
  return std::nullopt;
}

int Membership::NumMembers(std::optional<Role> role) const {
  return static_cast<int>(std::ranges::count_if(places_, [&](const Place& p) {
    return p.is_member && (!role.has_value() || p.key.role == *role);
  }));
}

bool Membership::AllJoined() const {
  return std::ranges::all_of(places_, [](const Place& p) {
    return !p.is_member || (p.incarnation != 0 && p.joined);
  });
}

}  // namespace gandem
