// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/joining.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxAddressBytes = 4096;
constexpr size_t kMaxDigestBytes = 128;

bool IsRoleOf(const Place& place, Role role) {
  return role == GENERATOR || role == DISCRIMINATOR
             ? place.key.role == role || place.key.role == COLOCATED
             : false;
}

absl::Status CheckChoices(const Place& place, const JoinRequest& request) {
  for (const RoleCompute& chosen : request.chosen()) {
    const ComputeChoice& choice = chosen.choice();
    const std::string& digest = chosen.measured_for();
    if (!IsRoleOf(place, chosen.role()) ||
        !RoleConfig::Precision_IsValid(choice.precision()) ||
        choice.precision() == RoleConfig::AUTO ||
        !MemoryLayout_IsValid(choice.layout()) || choice.layout() == AUTO ||
        digest.size() > kMaxDigestBytes ||
        !std::ranges::all_of(digest, absl::ascii_isxdigit)) {
      return absl::InvalidArgumentError(
          "what AUTO has become is no precision and layout of this role");
    }
  }
  return absl::OkStatus();
}

// Rejects a unix socket of `place` if workers are on other hosts.
absl::Status CheckReach(const Membership& members, const Place& place) {
  for (const Place& other : members.places()) {  // generators first
    if (other.host_identity == place.host_identity || !members.IsInEpoch(other))
      continue;
    std::string advice;
    if (other.key.role == GENERATOR &&
        absl::StartsWith(place.exchange_address, "unix:")) {
      advice = "--listen HOST:PORT to the discriminator worker";
    } else if (other.key.role == place.key.role &&
               place.member.network_address().empty()) {
      advice = absl::StrCat("--fleet_listen HOST:PORT to all ",
                            RoleName(place.key.role), " workers");
    } else {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(place.key), " on ", place.host,
                     " serves a unix socket, which ", ToString(other.key),
                     " on ", other.host, " cannot reach: pass ", advice));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckJoin(const Membership& members, const Place& place,
                       const JoinRequest& request) {
  GANDEM_RETURN_IF_ERROR(CheckChoices(place, request));
  const bool serves = place.key.role == DISCRIMINATOR;
  for (const std::string* address :
       {&request.exchange_address(), &request.fleet_local_address(),
        &request.fleet_network_address()}) {
    if (address->size() <= kMaxAddressBytes) continue;
    return absl::InvalidArgumentError("an address is too long");
  }
  if (serves == request.exchange_address().empty()) {
    return absl::InvalidArgumentError(
        serves ? "a discriminator must tell its exchange address"
               : "only a discriminator has an exchange address");
  }
  const bool is_found = !request.fleet_local_address().empty() ||
                        !request.fleet_network_address().empty();
  if (is_found != (members.NumMembers(place.key.role) > 1)) {
    return absl::InvalidArgumentError(
        is_found ? "the only worker of a role needs no address for others"
                 : "a worker of a fleet must tell where the others find it");
  }
  return absl::OkStatus();
}

absl::Status CheckProof(const Place& place, const JoinRequest& request,
                        const FolderProof& proof, const std::string& run_dir) {
  if (request.proof() == proof.text) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      ToString(place.key), " on ", place.host, " does not see the run folder '",
      run_dir, "' (its '", proof.file,
      "' is another or none): share the folder with that host, or start the "
      "worker with --run_dir and the name that the folder has there"));
}

absl::Status TakeJoin(Membership& members, Place& place,
                      const JoinRequest& request) {
  place.joined = true;
  place.exchange_address = request.exchange_address();
  place.compute = request.compute();
  place.member.set_host(place.host);
  place.member.set_host_identity(place.host_identity);
  place.member.set_incarnation(place.incarnation);
  place.member.set_local_address(request.fleet_local_address());
  place.member.set_network_address(request.fleet_network_address());
  for (Place& other : members.places()) {
    other.joined = other.joined && CheckReach(members, other).ok();
  }
  return CheckReach(members, place);
}

bool CountChoices(const JoinRequest& request, RunCounters& counters) {
  bool is_new = false;
  for (const RoleCompute& chosen : request.chosen()) {
    const auto found = std::ranges::find(*counters.mutable_computes(),
                                         chosen.role(), &RoleCompute::role);
    RoleCompute& kept = found == counters.mutable_computes()->end()
                            ? *counters.add_computes()
                            : *found;
    const std::string before = kept.SerializeAsString();
    kept = chosen;
    is_new = is_new || kept.SerializeAsString() != before;
  }
  return is_new;
}

std::vector<WorkerNumerics> MemberNumerics(const Membership& members) {
  std::vector<WorkerNumerics> all;
  for (const Place& place : members.places()) {
    if (!place.is_member) continue;
    auto entry = std::ranges::find_if(all, [&place](const auto& other) {
      return Numerics(other.values().begin(), other.values().end()) ==
             place.numerics;
    });
    if (entry == all.end()) {
      entry = all.emplace(entry);
      entry->mutable_values()->insert(place.numerics.begin(),
                                      place.numerics.end());
    }
    entry->add_workers(NameWithHost(place));
  }
  return all;
}

std::string WarnOfMachines(const std::vector<WorkerNumerics>& before,
                           const Membership& members) {
  std::vector<OwnedNumerics> all;
  for (const WorkerNumerics& entry : before) {
    all.push_back({.owner = "the checkpoint",
                   .numerics = {entry.values().begin(), entry.values().end()}});
  }
  for (const Place& place : members.places()) {
    if (!place.is_member) continue;
    all.push_back({.owner = NameWithHost(place), .numerics = place.numerics});
  }
  const std::string differences = NumericsDifferences(all);
  if (differences.empty()) return "";
  return absl::StrCat("WARNING: machines differ: ", differences, "; ",
                      kNumericsAdvice);
}

void AddOthers(const Membership& members, const Place& place,
               JoinReply& reply) {
  const bool in_fleet = members.NumMembers(place.key.role) > 1;
  for (const Place& other : members.places()) {
    if (!other.is_member) continue;
    if (in_fleet && other.key.role == place.key.role) {
      *reply.add_fleet() = other.member;
    }
    if (other.key.role == DISCRIMINATOR) {
      reply.add_discriminator_addresses(other.exchange_address);
    }
  }
}

void SetPosition(const Membership& members, const Place& place,
                 RegisterReply& reply) {
  reply.set_position(static_cast<int>(
      std::ranges::count_if(members.places(), [&](const Place& other) {
        return other.is_member && other.key.role == place.key.role &&
               other.key.rank < place.key.rank;
      })));
  reply.set_generators(members.NumMembers(GENERATOR));
  reply.set_discriminators(members.NumMembers(DISCRIMINATOR));
}

}  // namespace gandem
