// SPDX-License-Identifier: Apache-2.0
//
// What a fleet of several ranks sums, part by part (docs/cost_model.md section
// 4).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {

struct SumPart {
  double seconds = 0;
  int64_t bytes = 0;  // that a host sends for it
};

// The gradients of a step, in a few launches of one or more buckets, and with
// the first the buffers of rank 0.
std::vector<SumPart> GradientParts(const RunShape& shape,
                                   const RoleShape& role);
// Parameters, buffers and optimizer's state at once.
std::vector<SumPart> StateParts(const RunShape& shape, const RoleShape& role);

}  // namespace gandem
