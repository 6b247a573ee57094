// SPDX-License-Identifier: Apache-2.0
//
// A plan on another number of devices: fleets of the same proportion, batches
// that grow with them or stay, hosts like those it was made for
// (docs/cost_model.md section 8).
//
// Owner: values. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names what of the plan cannot be scaled.
#pragma once

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace gandem {

enum class Scaling {
  kWeak,   // batches grow: the images of a device stay
  kStrong  // batches stay
};

struct ScaledPlan {
  RunConfig config = {};
  Machines machines = {};
  Placement placement = {};
  int generators = 1;
  int discriminators = 1;
};

// `candidate` of a plan for `machines`. A device is a worker; one device is a
// colocated worker. Hosts come again in their order, each with as many workers
// as the plan's first host has.
absl::StatusOr<ScaledPlan> ScalePlan(const Candidate& candidate,
                                     const Machines& machines, int devices,
                                     Scaling scaling);

}  // namespace gandem
