// SPDX-License-Identifier: Apache-2.0
//
// What --replan needs of a run that is trained by a plan, before it starts and
// between its shapes.
//
// Owner: `gandem train`. Thread safety: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner_commands/replan_watch.h"

namespace gandem {

// Corrects the profile that is kept of the plan's first candidate. None: there
// is no such profile; `notices` tells the user either way.
std::optional<ReplanWatch> WatchPlan(const Plan& plan,
                                     std::vector<std::string>& notices);

// The plan of the run with the candidate that it goes on by in front.
absl::Status KeepNext(const std::string& run_dir, Plan plan,
                      const Candidate& next);

}  // namespace gandem
