// SPDX-License-Identifier: Apache-2.0
//
// `gandem plan`: the ten best ways to run a recipe on some machines, as a table
// and as a file that `gandem train --plan` takes.
//
// Owner: main(). Thread safety: one thread.
#pragma once

#include <iosfwd>

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

// `profile` is of the recipe, with its held images (held_images.h).
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

}  // namespace gandem
