// SPDX-License-Identifier: Apache-2.0
//
// Handles the join of a worker, which reports its address, numerics and choices
// and receives the addresses of the other workers.
//
// Owner: called by the coordinator. Thread safety: one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/results/run_folder.h"
#include "control_plane/coordinator/membership.h"
#include "proto/checkpoint.pb.h"
#include "proto/control.pb.h"

namespace gandem {

// Returns INVALID_ARGUMENT if an address that the worker must have is missing,
// or an address that it must not have is present.
absl::Status CheckJoin(const Membership& members, const Place& place,
                       const JoinRequest& request);

// Returns INVALID_ARGUMENT if the worker does not see `run_dir`. Its shards
// would be missing from every checkpoint.
absl::Status CheckProof(const Place& place, const JoinRequest& request,
                        const FolderProof& proof, const std::string& run_dir);

// Marks the worker as ready. Other workers that this host cannot reach by their
// unix socket stop being ready and get the error in their next call.
//   INVALID_ARGUMENT  another host cannot reach this worker; it is not ready
absl::Status TakeJoin(Membership& members, Place& place,
                      const JoinRequest& request);

// Writes the role's choices for AUTO to `counters`. Returns whether any is new.
bool CountChoices(const JoinRequest& request, RunCounters& counters);

// Returns the distinct numerics, each with the members that have it.
std::vector<WorkerNumerics> MemberNumerics(const Membership& members);
// Returns a warning, else "", if results may differ bitwise between the members
// or from `before`, the workers that wrote the checkpoint.
std::string WarnOfMachines(const std::vector<WorkerNumerics>& before,
                           const Membership& members);

// Adds the addresses of the discriminators and of the worker's fleet.
void AddOthers(const Membership& members, const Place& place, JoinReply& reply);

// Sets the worker's position in its fleet and the sizes of the fleets.
void SetPosition(const Membership& members, const Place& place,
                 RegisterReply& reply);

}  // namespace gandem
