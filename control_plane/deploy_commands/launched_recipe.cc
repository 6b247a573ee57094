// SPDX-License-Identifier: Apache-2.0
#include "control_plane/deploy_commands/launched_recipe.h"

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "scaling_manager/planner_commands/plan_file.h"

namespace gandem {

absl::StatusOr<LaunchedRecipe> ReadLaunchedRecipe(
    const LaunchFlags& flags,
    absl::FunctionRef<absl::StatusOr<RunConfig>(const std::string& text)>
        parse) {
  LaunchedRecipe launched;
  GANDEM_ASSIGN_OR_RETURN(launched.text,
                          ReadFile(flags.recipe, kMaxTextProtoBytes));
  if (LooksLikePlan(launched.text)) {
    GANDEM_ASSIGN_OR_RETURN(const Plan plan,
                            ParsePlan(launched.text, flags.recipe));
    if (flags.candidate > plan.candidates_size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--candidate ", flags.candidate, ": '", flags.recipe, "' has ",
          plan.candidates_size(), " candidates, counted from 1"));
    }
    launched.candidate = plan.candidates(flags.candidate - 1);
    launched.config = EffectiveConfig(launched.candidate->config());
    GANDEM_RETURN_IF_ERROR(SetFields(flags.sets, launched.config));
    GANDEM_RETURN_IF_ERROR(
        Annotate(ValidateRunConfig(launched.config), flags.recipe));
    if (flags.candidate != 1) {
      launched.arguments = {"--candidate", absl::StrCat(flags.candidate)};
    }
  } else {
    GANDEM_ASSIGN_OR_RETURN(launched.config, parse(launched.text));
  }
  launched.config = EffectiveConfig(launched.config);
  if (!flags.data.empty()) {
    launched.arguments.insert(launched.arguments.end(), {"--data", flags.data});
  }
  for (const std::string& set : flags.sets) {
    launched.arguments.insert(launched.arguments.end(), {"--set", set});
  }
  return launched;
}

}  // namespace gandem
