// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/replanned_run.h"

#include <utility>

#include "scaling_manager/planner_commands/held_images.h"
#include "scaling_manager/planner_commands/plan_command.h"
#include "scaling_manager/planner_commands/planned_run.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "scaling_manager/profiler/profile_file.h"

namespace gandem {

std::optional<ReplanWatch> WatchPlan(const Plan& plan,
                                     std::vector<std::string>& notices) {
  const RunConfig& config = plan.candidates(0).config();
  std::optional<Profile> profile = FindCachedProfile(FingerprintHere(config));
  if (!profile.has_value()) {
    notices.push_back(
        "--replan has nothing to correct: no profile of the run is kept on "
        "this machine (`gandem profile`)");
    return std::nullopt;
  }
  AddHeldImages(HeldImageBytes(config.data()), *profile);
  notices.push_back(
      "--replan looks at other numbers of workers; all else that a plan "
      "decides would be another run");
  return std::optional<ReplanWatch>(std::in_place, plan, *std::move(profile),
                                    RealModels());
}

absl::Status KeepNext(const std::string& run_dir, Plan plan,
                      const Candidate& next) {
  plan.clear_reasons();
  *plan.mutable_candidates(0) = next;
  return KeepPlan(run_dir, plan);
}

}  // namespace gandem
