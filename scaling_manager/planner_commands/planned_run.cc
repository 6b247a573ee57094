// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/planned_run.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/status.h"
#include "scaling_manager/planner_commands/held_images.h"
#include "scaling_manager/planner_commands/plan_command.h"
#include "scaling_manager/planner_commands/plan_file.h"
#include "scaling_manager/planner_commands/plan_text.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "scaling_manager/profiler/profile_file.h"

namespace gandem {
namespace {

constexpr double kGainWorthAHint = 1.10;

std::string PlanPath(const std::string& run_dir) {
  return run_dir + "/plan.textproto";
}

absl::StatusOr<Plan> ChooseCandidate(const std::string& path, int candidate) {
  GANDEM_ASSIGN_OR_RETURN(Plan plan, ReadPlan(path));
  if (candidate < 1 || candidate > plan.candidates_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--candidate ", candidate, " is not in ", path,
                     ", which has candidates 1 to ", plan.candidates_size()));
  }
  if (candidate == 1) return plan;
  plan.clear_reasons();
  for (int i = candidate - 1; i > 0; --i) {
    plan.mutable_candidates()->SwapElements(i, i - 1);
  }
  return plan;
}

}  // namespace

absl::StatusOr<Plan> PlanNow(const RunConfig& recipe,
                             const MachineOptions& machines,
                             const std::string& folder,
                             const ProfileMaker& measure) {
  std::optional<Profile> profile = FindCachedProfile(FingerprintHere(recipe));
  // One that was interrupted knows little more than how to go on.
  if (!profile.has_value() || profile->is_under_way()) {
    GANDEM_ASSIGN_OR_RETURN(profile, measure(recipe, folder));
  }
  AddHeldImages(HeldImageBytes(recipe.data()), *profile);
  return MakePlan({.machines = machines}, recipe, *profile, RealModels());
}

absl::StatusOr<std::optional<Plan>> PlanToFollow(const PlanFlags& flags,
                                                 const std::string& run_dir) {
  if (flags.is_file()) {
    GANDEM_ASSIGN_OR_RETURN(Plan plan,
                            ChooseCandidate(flags.plan, flags.candidate));
    return std::optional<Plan>(std::move(plan));
  }
  if (!flags.is_auto() || !PathExists(PlanPath(run_dir))) {
    return std::optional<Plan>();
  }
  GANDEM_ASSIGN_OR_RETURN(Plan plan, ReadPlan(PlanPath(run_dir)));
  return std::optional<Plan>(std::move(plan));
}

bool IsNoneOfThePlan(const std::string& set) {
  const std::string field = set.substr(0, set.find_first_of(".="));
  return field == "rounds" || field == "name" || field == "checkpoint" ||
         field == "samples" || field == "control";
}

absl::Status KeepPlan(const std::string& run_dir, const Plan& plan) {
  return WritePlan(plan, PlanPath(run_dir));
}

absl::Status CheckMachineHas(const Plan& plan, int cores, bool external) {
  if (external) return absl::OkStatus();
  std::map<std::string, int> threads;  // by host
  for (const PlacedWorker& worker : plan.candidates(0).placement().workers()) {
    threads[worker.host()] += worker.threads();
  }
  if (threads.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan (", plan.candidates(0).name(), ") is for ", threads.size(),
        " hosts, and `gandem train` starts workers on this one: give "
        "--external and --listen HOST:PORT to start them by hand, or plan for "
        "this machine alone (`gandem plan RECIPE --devices ",
        cores, "`)"));
  }
  if (threads.begin()->second > cores) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan (", plan.candidates(0).name(), ") is for ",
        threads.begin()->second, " cores, and this process may use ", cores,
        ": plan again with --devices ", cores));
  }
  return absl::OkStatus();
}

std::vector<std::string> PlanNotices(const Plan& plan) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const PlacedWorker& worker : plan.candidates(0).placement().workers()) {
    hosts[worker.host()].push_back(
        absl::StrCat(RoleName(worker.role()), " ", worker.rank()));
  }
  std::vector<std::string> lines = PlanLines(plan, 0);
  if (hosts.size() < 2) return lines;
  for (const auto& [host, workers] : hosts) {
    lines.push_back(
        absl::StrCat("on ", host, ": ", absl::StrJoin(workers, ", ")));
  }
  lines.push_back(
      "whether these hosts reach each other: `gandem doctor PLAN --run_dir DIR "
      "--host HOST:PORT` (docs/planning.md)");
  return lines;
}

std::optional<BetterPlan> FindBetterPlan(const RunConfig& config,
                                         bool colocated, const Profile& profile,
                                         const PlanModels& models) {
  const auto plan = MakePlan({}, config, profile, models);
  if (!plan.ok()) return std::nullopt;
  const auto now = MakePlan({.as_it_is = true, .colocated = colocated}, config,
                            profile, models);
  if (!now.ok()) return std::nullopt;
  const Candidate& best = plan->candidates(0);
  return BetterPlan{GainOver(Plan::TIME_TO_QUALITY, best.prediction(),
                             now->candidates(0).prediction()),
                    best.name()};
}

std::string BetterPlanHint(const std::string& recipe, const RunConfig& config,
                           bool colocated) {
  std::optional<Profile> kept = FindCachedProfile(FingerprintHere(config));
  if (!kept.has_value()) return "";
  AddHeldImages(HeldImageBytes(config.data()), *kept);
  const auto better = FindBetterPlan(config, colocated, *kept, RealModels());
  if (!better.has_value() || better->gain <= kGainWorthAHint) return "";
  return absl::StrFormat(
      "a plan for this machine would be %.0f %% faster to the same quality "
      "(%s): gandem plan %s -o plan.textproto, then gandem train --plan "
      "plan.textproto",
      100 * (better->gain - 1), better->name, recipe);
}

}  // namespace gandem
