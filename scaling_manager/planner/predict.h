// SPDX-License-Identifier: Apache-2.0
//
// What a plan would do, without a run: the simulation of its rounds and the
// memory of its workers (docs/cost_model.md).
//
// Owner: values. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT and NOT_FOUND name the field of the profile, the
// machines, the config or the placement and what would be accepted.
#pragma once

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner/model/role_costs.h"

namespace gandem {

// Everything but images_needed and time_to_quality.
absl::StatusOr<Prediction> Predict(const ProfileCosts& costs,
                                   const Machines& machines,
                                   const RunConfig& config,
                                   const Placement& placement);

// The same memory, and about the same images/s, without a simulation
// (closed_form.h). Nothing else is set.
absl::StatusOr<Prediction> PredictRoughly(const ProfileCosts& costs,
                                          const Machines& machines,
                                          const RunConfig& config,
                                          const Placement& placement);

}  // namespace gandem
