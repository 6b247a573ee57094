// SPDX-License-Identifier: Apache-2.0
//
// `gandem plan`: prints the ten best ways to run a recipe on some machines, and
// writes them as a file for `gandem train --plan`.
// Owner: main(), `gandem train`. Thread safety: one thread.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/search/search.h"
#include "scaling_manager/planner_commands/plan_options.h"

namespace gandem {

// Returns the cost model, the quality model with the measured gradient noise,
// and the rules for optimizers.
PlanModels RealModels(const NoiseScales& noise = {});

// Searches for the best candidates. `profile` is the recipe's, with its held
// images (plan_inputs.h). Returns errors of MachinesFor and FindPlan, and
//   INVALID_ARGUMENT  an option is malformed or allows no plan
absl::StatusOr<Plan> MakePlan(const PlanOptions& options,
                              const RunConfig& recipe, const Profile& profile,
                              const PlanModels& models);

// Writes the plan and prints the table. `recipe` is the options' recipe with
// the shape of its images known. Returns errors of ReadProfile,
// CheckProfileHolds, ReadNoiseScales and MakePlan, and
//   NOT_FOUND  there is no profile yet; names the command for one
absl::Status RunPlan(const PlanOptions& options, const RunConfig& recipe,
                     std::ostream& out);

// --- Runs that follow a plan. A run keeps its plan in RUN_DIR/plan.textproto,
// with the candidate that it follows first ---

// Returns the plan that the flags name: the file of --plan with --candidate
// moved to the front (the reasons stay only for the plan's first candidate),
// or, with AUTO, the plan that the run began with. Returns nullopt if there is
// none yet. Returns errors of ReadPlan, and
//   INVALID_ARGUMENT  there is no such candidate; names their number
absl::StatusOr<std::optional<Plan>> PlanToFollow(const PlanFlags& flags,
                                                 const std::string& run_dir);

// Returns whether --set may change this field of a run that was begun with
// --plan AUTO: true for fields that no plan sets.
bool IsNoneOfThePlan(const std::string& set);

// Measures a recipe into a file in `folder`, which takes minutes.
using ProfileMaker = std::function<absl::StatusOr<Profile>(
    const RunConfig& recipe, const std::string& folder)>;

// Makes a plan for --plan AUTO from the cached profile, or from `measure` if
// the cached profile is missing or incomplete.
absl::StatusOr<Plan> PlanNow(const RunConfig& recipe,
                             const MachineOptions& machines,
                             const std::string& folder,
                             const ProfileMaker& measure);

absl::Status KeepPlan(const std::string& run_dir, const Plan& plan);

// Checks that this machine is large enough for the plan's first candidate.
// `cores`: number that this process may use. A plan for several hosts needs
// `external`, because only workers that are started by hand can run on other
// hosts.
//   FAILED_PRECONDITION  the candidate needs more; names the numbers
absl::Status CheckMachineHas(const Plan& plan, int cores, bool external);

// Returns PlanLines() and, for several hosts, the workers of each host ("on
// alpha: generator 0, discriminator 1"), for the person who starts them by
// hand, and a command that checks the hosts.
std::vector<std::string> PlanNotices(const Plan& plan);

}  // namespace gandem
