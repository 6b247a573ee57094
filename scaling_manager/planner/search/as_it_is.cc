// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "scaling_manager/planner/quality/optimizer_rules.h"
#include "scaling_manager/planner/search/scored_choice.h"
#include "scaling_manager/planner/search/search.h"
#include "scaling_manager/planner/search/search_reasons.h"

namespace gandem {
namespace {

// Places workers on a host with fewer cores than threads, which share cores.
Placement CrowdedOn(const Host& host, const SearchChoice& choice) {
  Machines roomy;
  *roomy.add_hosts() = host;
  roomy.mutable_hosts(0)->set_cores(
      choice.generator.workers * choice.generator.threads +
      choice.discriminator.workers * choice.discriminator.threads);
  return PlaceWorkers(roomy, choice);
}

absl::StatusOr<Placement> PlaceAsItIs(const Machines& machines,
                                      const SearchChoice& choice) {
  Placement placement = PlaceWorkers(machines, choice);
  if (placement.workers_size() == 0 && machines.hosts_size() == 1) {
    placement = CrowdedOn(machines.hosts(0), choice);
  }
  if (placement.workers_size() > 0) return placement;
  return absl::InvalidArgumentError(absl::StrCat(
      "the recipe's ", choice.generator.workers, " generator and ",
      choice.discriminator.workers, " discriminator workers (",
      choice.generator.threads, " and ", choice.discriminator.threads,
      " threads each) do not fit the ", NumDevices(machines),
      " devices: give more (--devices, --hosts), or fewer workers (--set "
      "generator.workers=1 --set discriminator.workers=1)"));
}

}  // namespace

absl::StatusOr<Plan> PlanAsItIs(const PlanRequest& request, bool colocated,
                                const PlanModels& models) {
  RunConfig config = request.recipe;
  RememberBatches(config);
  GANDEM_RETURN_IF_ERROR(ValidateRunConfig(config));
  const SearchChoice choice = ChoiceAsItIs(config, colocated);
  GANDEM_ASSIGN_OR_RETURN(Placement placement,
                          PlaceAsItIs(request.machines, choice));
  GANDEM_ASSIGN_OR_RETURN(
      ScoredChoice scored,
      ScoreConfig(choice, std::move(config), std::move(placement),
                  request.profile, request, models));
  scored.candidate.set_name(NameOf(request.recipe, choice, {}));
  Plan plan;
  plan.set_objective(request.objective);
  *plan.mutable_machines() = request.machines;
  for (std::string& reason : ReasonsAsItIs(scored)) {
    plan.add_reasons(std::move(reason));
  }
  Candidate& candidate = *plan.add_candidates();
  candidate = std::move(scored.candidate);
  *candidate.mutable_config() = EffectiveConfig(candidate.config());
  return plan;
}

}  // namespace gandem
