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
    std::span<const ScoredChoice* const> too_large, const PlanRequest& request,
    const PlanModels& models);

// Of a candidate beside which nothing was tried: whether it fits, then as
// above.
std::vector<std::string> ReasonsAsItIs(const ScoredChoice& scored,
                                       const PlanRequest& request,
                                       const PlanModels& models);

// INVALID_ARGUMENT: what `nearly` needs, which comes nearest to fitting.
absl::Status NoneFits(const ScoredChoice& nearly, const SearchChoice& base,
                      const PlanRequest& request);

// How many times as fast the candidate becomes with twice of one thing.
struct Doubled {
  std::string what = {};
  double speedup = 1;
};

// Of all that can be doubled, the one that helps most first.
std::vector<Doubled> SpeedupsOf(const Candidate& candidate,
                                const PlanRequest& request,
                                const PlanModels& models);

}  // namespace gandem
