// SPDX-License-Identifier: Apache-2.0
//
// The join of a worker: it reports its address, its numerics and its choices,
// and learns the addresses of the others.
//
// Owner: the coordinator calls these. Thread safety: one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/results/run_folder.h"
#include "control_plane/coordinator/membership.h"
#include "proto/checkpoint.pb.h"
#include "proto/control.pb.h"

namespace gandem {

// INVALID_ARGUMENT: a required address of a worker in this place is missing, or
// an unused one is present.
absl::Status CheckJoin(const Membership& members, const Place& place,
                       const JoinRequest& request);

// INVALID_ARGUMENT: the worker does not see `run_dir`, so its files would not
// be in any checkpoint.
absl::Status CheckProof(const Place& place, const JoinRequest& request,
                        const FolderProof& proof, const std::string& run_dir);

// Marks the worker as ready. Workers on other hosts that a unix socket cannot
// reach are not ready any more; they learn it from their next call.
//   INVALID_ARGUMENT  this worker cannot be reached, and is not ready.
absl::Status TakeJoin(Membership& members, Place& place,
                      const JoinRequest& request);

// Writes the role's choices for AUTO to `counters`. False: they were there.
bool CountChoices(const JoinRequest& request, RunCounters& counters);

// The distinct numerics of the members, with the members that have them.
std::vector<WorkerNumerics> MemberNumerics(const Membership& members);
// Warns if bits may differ between the members, or from `before`, the workers
// that wrote the checkpoint that the members start from. Empty: no warning.
std::string WarnOfMachines(const std::vector<WorkerNumerics>& before,
                           const Membership& members);

// Adds the addresses of the discriminators and of the worker's fleet.
void AddOthers(const Membership& members, const Place& place, JoinReply& reply);

// Sets the worker's position in its fleet and the sizes of the fleets.
void SetPosition(const Membership& members, const Place& place,
                 RegisterReply& reply);

}  // namespace gandem
