// SPDX-License-Identifier: Apache-2.0
//
// Why a plan is the best, in sentences with numbers, and what is in the way of
// a better one.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scaling_manager/planner/search/scored_choice.h"
#include "scaling_manager/planner/search/search.h"

namespace gandem {

// `shown`: the candidates of the plan, the first being chosen. `too_large`:
// those that do not fit the memory, the best first.
std::vector<std::string> ReasonsFor(
    std::span<const ScoredChoice> shown,
    std::span<const ScoredChoice* const> too_large);

// Of a candidate beside which nothing was tried: whether it fits, then as
// above.
std::vector<std::string> ReasonsAsItIs(const ScoredChoice& scored);

// INVALID_ARGUMENT: what `nearly` needs, which comes nearest to fitting.
absl::Status NoneFits(const ScoredChoice& nearly, const SearchChoice& base,
                      const PlanRequest& request);

}  // namespace gandem
