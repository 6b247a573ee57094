// SPDX-License-Identifier: Apache-2.0
//
// Finds the plan: which shape, batches, feedback, lag, threads, precision and
// placement serve the objective best on some machines. All shapes, and all ways
// to run the best of them, are ranked by the closed form; the best twenty are
// simulated, and the best of these is the plan. The same request has the same
// plan.
//
// What a candidate is good for is said by functions, so that tests have models
// with answers in closed form.
//
// Owner: `gandem plan`. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/model/role_costs.h"
#include "scaling_manager/planner/quality/quality.h"

namespace gandem {

struct PlanModels {
  // planner/predict.h
  std::function<absl::StatusOr<Prediction>(const ProfileCosts&, const Machines&,
                                           const RunConfig&, const Placement&)>
      predict;
  // The same, right to a fifth or so and much cheaper: it ranks all choices.
  decltype(predict) predict_roughly;
  // planner/quality/quality.h
  std::function<ImagesNeeded(const RunConfig&)> images_needed;
  // planner/quality/optimizer_rules.h
  std::function<std::vector<std::string>(RunConfig&)> choose_optimizers;
};

struct SearchLimits {
  int64_t least_lag = 0;
  int64_t most_lag = 4;
  // Of the larger role, in images; 0: the recipe's batches are kept unless the
  // objective is THROUGHPUT or the quality model wants others.
  int64_t max_batch = 0;
};

struct PlanRequest {
  RunConfig recipe;   // valid
  Profile profile;    // of this recipe
  Machines machines;  // as CheckMachines leaves them
  Plan::Objective objective = Plan::TIME_TO_QUALITY;
  SearchLimits limits = {};
};

// At most ten candidates, one for each shape, feedback and lag, the best first;
// with the best colocated one and the best decoupled one. Candidates that are
// worth the same to 2 %, which is less than the models know, are in the order
// of simplicity. Rounds and bytes are predicted by `models`, and memory is the
// limit of each host, or of each of its GPUs.
//   INVALID_ARGUMENT  nothing fits; names what is binding and the nearest value
//                     at which something does.
absl::StatusOr<Plan> FindPlan(const PlanRequest& request,
                              const PlanModels& models);

// What one config would do, with nothing chosen for it: a plan whose only
// candidate is request.recipe with its numbers of workers, threads and its lag;
// or, where `colocated`, one process for both roles of it. Limits are not
// looked at. Workers go where the search would put them; on a single machine
// also more of them than there are cores, as `gandem train` starts them. A plan
// that does not fit the memory says so in its first reason. time_to_quality is
// 0, for there is nothing to compare with.
//   INVALID_ARGUMENT  the config is none, fits no machine, or cannot be
//                     predicted; says why.
absl::StatusOr<Plan> PlanAsItIs(const PlanRequest& request, bool colocated,
                                const PlanModels& models);

}  // namespace gandem
