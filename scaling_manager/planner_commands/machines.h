// SPDX-License-Identifier: Apache-2.0
//
// The machines that a plan is for: a file of hosts (docs/planning.md), or as
// many devices of a machine like the profiled one. Whether hosts can be reached
// is not looked at: a plan may be made before there are any.
//
// Thread safety: pure functions, but for reading the file.
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

// Of a hosts.textproto; `file` is its name in messages. Devices and speeds that
// are left out are written down; a `link` as of --link stands for the text's.
//   INVALID_ARGUMENT  every fault at once, with its place: no hosts, names that
//                     are empty or there twice, no cores, devices that there
//                     are not, several hosts without a link ...
absl::StatusOr<Machines> ParseMachines(absl::string_view text,
                                       absl::string_view file,
                                       const std::string& link = "");

// `recipe` says whether devices are cores or GPUs. Without a file of hosts:
// with a link, `devices` machines like the profiled one, each with all its
// cores, or one GPU; without a link, so many cores or GPUs of that machine. Of
// its memory, and of its GPU's, there are nine tenths.
//   INVALID_ARGUMENT  more devices than there are, with their number; or the
//                     file is none, see above; or hosts without the recipe's
//                     kind of device.
absl::StatusOr<Machines> MachinesFor(const MachineOptions& options,
                                     const RunConfig& recipe,
                                     const Profile& profile);

}  // namespace gandem
