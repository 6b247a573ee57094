// SPDX-License-Identifier: Apache-2.0
//
// Runs by a plan: which candidate, made when, and whether this machine has what
// it is for. A run keeps its plan in RUN_DIR/plan.textproto, the candidate that
// it is trained by being the first.
//
// Owner: `gandem train`. Thread safety: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner/search/search.h"
#include "scaling_manager/planner_commands/plan_options.h"

namespace gandem {

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

// One line where a profile that is kept knows a plan that serves the usual
// objective more than 10 % better than `config` as it stands; else empty.
// `recipe` is its name.
std::string BetterPlanHint(const std::string& recipe, const RunConfig& config,
                           bool colocated);

// The same of a profile: the gain, and the candidate.
struct BetterPlan {
  double gain = 1;  // 1.25: 25 % better
  std::string name = {};
};
std::optional<BetterPlan> FindBetterPlan(const RunConfig& config,
                                         bool colocated, const Profile& profile,
                                         const PlanModels& models);

}  // namespace gandem
