// SPDX-License-Identifier: Apache-2.0
//
// Explains in sentences with numbers why a plan is the best, and what prevents
// a better plan.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scaling_manager/planner/search/scored_choice.h"
#include "scaling_manager/planner/search/search.h"

namespace gandem {

// Returns the reasons for the first of `shown`, the candidates of the plan.
// `too_large`: candidates that do not fit the memory, the best first.
std::vector<std::string> ReasonsFor(
    std::span<const ScoredChoice> shown,
    std::span<const ScoredChoice* const> too_large);

// Returns whether a single candidate fits, its bottleneck and its quality.
std::vector<std::string> ReasonsAsItIs(const ScoredChoice& scored);

// Returns INVALID_ARGUMENT with the memory of `nearly`, the nearest to fit.
absl::Status NoneFits(const ScoredChoice& nearly, const SearchChoice& base,
                      const PlanRequest& request);

}  // namespace gandem
