// SPDX-License-Identifier: Apache-2.0
//
// Machines that a plan is for: a file of hosts (docs/planning.md), or several
// devices of a machine like the profiled one. The hosts need not exist yet.
// Thread safety: pure functions, except for reading the file.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner_commands/plan_options.h"

namespace gandem {

// Parses a hosts.textproto and fills in missing devices and speeds. `file`: its
// name in messages. `link`, in the syntax of --link, replaces the link in the
// text.
//   INVALID_ARGUMENT  lists every fault with its place: no hosts, empty or
//       repeated names, no cores, wrong devices, several hosts without a link
absl::StatusOr<Machines> ParseMachines(absl::string_view text,
                                       absl::string_view file,
                                       const std::string& link = "");

// Returns the machines that `options` describe. `recipe` decides whether
// devices are cores or GPUs. Without a file of hosts, a link means `devices`
// machines like the profiled one, each with all its cores or one GPU; no link
// means `devices` cores or GPUs of that machine. Nine tenths of a machine's
// memory, and of its GPU's, count as usable.
//   INVALID_ARGUMENT  more devices than the machines have, with that number; a
//       fault of the file, see above; hosts without the recipe's kind of device
absl::StatusOr<Machines> MachinesFor(const MachineOptions& options,
                                     const RunConfig& recipe,
                                     const Profile& profile);

}  // namespace gandem
