// SPDX-License-Identifier: Apache-2.0
//
// What simulated rounds say to a person: speed, who waits, and for what all do.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include "proto/plan.pb.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_run.h"

namespace gandem {

// Speed, shares of waiting, bytes of the busiest link and the bottleneck.
Prediction SummaryOf(const RunShape& shape, const SimulatedRounds& rounds);

}  // namespace gandem
