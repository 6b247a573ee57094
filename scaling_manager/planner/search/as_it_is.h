// SPDX-License-Identifier: Apache-2.0
//
// What one config would do, with nothing chosen for it: a plan whose only
// candidate is the recipe as it stands.
//
// Owner: `gandem plan --as_it_is`, and who compares a run with plans. Thread
// safety: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner/search/search.h"

namespace gandem {

// Of request.recipe with its numbers of workers, threads and its lag; or, where
// `colocated`, of one process for both roles. `request.space` is not looked at.
// Workers go where the search would put them; on a single machine also more of
// them than there are cores, as `gandem train` starts them. A plan that does
// not fit the memory says so in its first reason. time_to_quality is 0, for
// there is nothing to compare with.
//   INVALID_ARGUMENT  the config is none, fits no machine, or cannot be
//                     predicted; says why.
absl::StatusOr<Plan> PlanAsItIs(const PlanRequest& request, bool colocated,
                                const PlanModels& models);

}  // namespace gandem
