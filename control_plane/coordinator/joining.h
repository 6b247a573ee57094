// SPDX-License-Identifier: Apache-2.0
//
// What a worker tells when it is ready, and what it learns about the others.
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

// INVALID_ARGUMENT: an address that a worker in this place must tell is
// missing, or one that nobody uses is there.
absl::Status CheckJoin(const Membership& members, const Place& place,
                       const JoinRequest& request);

// INVALID_ARGUMENT: the worker does not see `run_dir`, so that none of its
// files would ever be in a checkpoint.
absl::Status CheckProof(const Place& place, const JoinRequest& request,
                        const FolderProof& proof, const std::string& run_dir);

// The worker is ready. Those that can no longer be reached by a worker on
// another host are not any more: they learn it when they ask again.
//   INVALID_ARGUMENT  this one cannot be reached, and is not ready.
absl::Status TakeJoin(Membership& members, Place& place,
                      const JoinRequest& request);

// What AUTO has become in a role, by its newest word, stands in `counters`.
// False: it did before.
bool CountChoices(const JoinRequest& request, RunCounters& counters);

// The numerics of the members, and which members have which.
std::vector<WorkerNumerics> MemberNumerics(const Membership& members);
// What may make bits differ between the members, or from those that `before`
// had, the workers that wrote the checkpoint that they start from. Empty: none.
std::string WarnOfMachines(const std::vector<WorkerNumerics>& before,
                           const Membership& members);

// Where the discriminators are, and the others of the worker's fleet.
void AddOthers(const Membership& members, const Place& place, JoinReply& reply);

// The worker's position in its fleet, and the fleets' sizes.
void SetPosition(const Membership& members, const Place& place,
                 RegisterReply& reply);

}  // namespace gandem
