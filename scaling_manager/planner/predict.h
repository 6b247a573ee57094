// SPDX-License-Identifier: Apache-2.0
//
// Predicts a plan without running it: simulates its rounds, and computes the
// memory of its workers (docs/cost_model.md).
// Owner: values. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT and NOT_FOUND name the field of the profile, the
// machines, the config or the placement, and what would be accepted.
#pragma once

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner/model/role_costs.h"

namespace gandem {

// Predicts everything except images_needed and time_to_quality.
absl::StatusOr<Prediction> Predict(const ProfileCosts& costs,
                                   const Machines& machines,
                                   const RunConfig& config,
                                   const Placement& placement);

// Predicts only memory and, by the closed form, approximate images/s.
absl::StatusOr<Prediction> PredictRoughly(const ProfileCosts& costs,
                                          const Machines& machines,
                                          const RunConfig& config,
                                          const Placement& placement);

}  // namespace gandem
