// SPDX-License-Identifier: Apache-2.0
//
// Finds the plan: the shape, batches, feedback, lag, threads, precision and
// placement that serve the objective best on some machines. The closed form
// ranks all shapes, and all ways to run the best shapes. The best twenty ways
// are simulated, and the best of these is the plan. The result is
// deterministic.
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
  // Approximates `predict` with errors of about a fifth, to rank all choices.
  decltype(predict) predict_roughly;
  // planner/quality/quality.h
  std::function<ImagesNeeded(const RunConfig&)> images_needed;
  // planner/quality/optimizer_rules.h
  std::function<std::vector<std::string>(RunConfig&)> choose_optimizers;
};

struct SearchLimits {
  int64_t least_lag = 0;
  int64_t most_lag = 4;
  // Limit for the larger role, in images. 0: larger batches are tried only if
  // the objective is THROUGHPUT or the quality model favors them.
  int64_t max_batch = 0;
};

struct PlanRequest {
  RunConfig recipe;   // valid
  Profile profile;    // of this recipe
  Machines machines;  // checked, with defaults filled in
  Plan::Objective objective = Plan::TIME_TO_QUALITY;
  SearchLimits limits = {};
};

// Finds at most ten candidates, one for each shape, feedback and lag, the best
// first, including the best colocated and the best decoupled one. Candidates
// within 2 %, which is less than the error of the models, are ordered by
// simplicity. The limit is the memory of each host, or of each of its GPUs.
//   INVALID_ARGUMENT  nothing fits; names the binding limit and the nearest
//       value at which something fits
absl::StatusOr<Plan> FindPlan(const PlanRequest& request,
                              const PlanModels& models);

// Predicts one config without a search. The only candidate is request.recipe
// with its worker counts, threads and lag or, if `colocated`, one process for
// both roles. Ignores request.limits. Places workers as in the search, but a
// single machine may have more workers than cores, as with `gandem train`. If
// the memory is too small, the first reason says so. time_to_quality is 0,
// because there is no candidate to compare with.
//   INVALID_ARGUMENT  the config is invalid, fits no machine, or cannot be
//       predicted; names the reason
absl::StatusOr<Plan> PlanAsItIs(const PlanRequest& request, bool colocated,
                                const PlanModels& models);

}  // namespace gandem
