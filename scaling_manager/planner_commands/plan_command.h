// SPDX-License-Identifier: Apache-2.0
//
// `gandem plan`: the ten best ways to run a recipe on some machines, as a table
// and as a file that `gandem train --plan` takes.
//
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

// The cost model, the quality model with what is known of gradient noise, and
// the rules for optimizers.
PlanModels RealModels(const NoiseScales& noise = {});

// `profile` is of the recipe, with its held images (plan_inputs.h).
//   INVALID_ARGUMENT  options that are none or fit nothing; those of
//                     MachinesFor and FindPlan.
absl::StatusOr<Plan> MakePlan(const PlanOptions& options,
                              const RunConfig& recipe, const Profile& profile,
                              const PlanModels& models);

// Writes the plan and prints the table. `recipe` is that of the options, with
// the shape of its images known.
//   NOT_FOUND  there is no profile yet; says how to make one.
//   those of ReadProfile, CheckProfileHolds, ReadNoiseScales and MakePlan.
absl::Status RunPlan(const PlanOptions& options, const RunConfig& recipe,
                     std::ostream& out);

// --- Runs by a plan: which candidate, made when, and whether this machine has
// what it is for. A run keeps its plan in RUN_DIR/plan.textproto, the candidate
// that it is trained by being the first ---

// The plan in the file of --plan, with --candidate put first (reasons stay if
// that is the plan's own first); or, with AUTO, the one that the run was begun
// with. None: there is none yet.
//   INVALID_ARGUMENT  there is no such candidate; says how many there are.
//   those of ReadPlan.
absl::StatusOr<std::optional<Plan>> PlanToFollow(const PlanFlags& flags,
                                                 const std::string& run_dir);

// Whether --set may change this field of a run that was begun with --plan AUTO:
// those that no plan is about.
bool IsNoneOfThePlan(const std::string& set);

// Measures a recipe, which takes minutes, into a file in the folder.
using ProfileMaker = std::function<absl::StatusOr<Profile>(
    const RunConfig& recipe, const std::string& folder)>;

// --plan AUTO: from the profile that is kept, or from one that `measure` makes
// or, where measuring was interrupted, goes on with.
absl::StatusOr<Plan> PlanNow(const RunConfig& recipe,
                             const MachineOptions& machines,
                             const std::string& folder,
                             const ProfileMaker& measure);

absl::Status KeepPlan(const std::string& run_dir, const Plan& plan);

// `cores`: that this process may use. Of several hosts only workers that are
// started by hand can be on the others.
//   FAILED_PRECONDITION  the plan's first candidate is for more; says what is
//                        there.
absl::Status CheckMachineHas(const Plan& plan, int cores, bool external);

// PlanLines; and for several hosts "on alpha: generator 0, discriminator 1",
// for who starts the workers by hand, and how to find a host that cannot be
// reached.
std::vector<std::string> PlanNotices(const Plan& plan);

}  // namespace gandem
