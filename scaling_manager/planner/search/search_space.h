// SPDX-License-Identifier: Apache-2.0
//
// Which values the decisions of a plan may have.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/config.pb.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/search/search_choice.h"

namespace gandem {

// Values to choose from; each list has one at least.
struct SearchSpace {
  std::vector<int> workers = {};
  std::vector<int> generator_threads = {};
  std::vector<int> discriminator_threads = {};
  std::vector<int64_t> lags = {};
  // Precision and layout only.
  std::vector<RoleChoice> generator_computes = {};
  std::vector<RoleChoice> discriminator_computes = {};
  std::vector<int> batch_doublings = {};
  std::vector<int64_t> averages = {};
  std::vector<WorkerSpread> spreads = {};
};

struct SearchLimits {
  int64_t least_lag = 0;
  int64_t most_lag = 4;
  // Of the larger role, in images; 0: the recipe's batches are kept unless the
  // objective is THROUGHPUT or the quality model wants others.
  int64_t max_batch = 0;
};

// All that was profiled and fits the machines.
SearchSpace SpaceOf(const RunConfig& recipe, const Profile& profile,
                    const Machines& machines, Plan::Objective objective,
                    const SearchLimits& limits);

// The choice that the recipe itself is, one worker a role.
SearchChoice ChoiceOf(const RunConfig& recipe, const SearchSpace& space);

}  // namespace gandem
