// SPDX-License-Identifier: Apache-2.0
//
// Which decisions there are for a plan, and the way through them.
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
  bool has_colocated = true;
  bool has_decoupled = true;
  std::vector<int> workers = {};
  std::vector<int> generator_threads = {};
  std::vector<int> discriminator_threads = {};
  std::vector<int64_t> lags = {};
  std::vector<ScheduleConfig::FeedbackMode> feedbacks = {};
  // Precision and layout only.
  std::vector<RoleChoice> generator_computes = {};
  std::vector<RoleChoice> discriminator_computes = {};
  std::vector<int> batch_doublings = {};
  std::vector<int64_t> averages = {};
  std::vector<WorkerSpread> spreads = {};
  bool has_micro_batches = true;
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

// What may change when a run is resumed: the numbers of workers only.
SearchSpace SpaceOfResume(const RunConfig& config, bool colocated,
                          const Machines& machines);

// The choice that the recipe itself is, one worker a role.
SearchChoice ChoiceOf(const RunConfig& recipe, const SearchSpace& space);

// Where the search starts: every shape of few workers, and those of many that
// leave few devices or about half of them, with every feedback, at few lags,
// with as many threads as fit and with the fewest.
std::vector<SearchChoice> FirstChoices(const SearchChoice& base,
                                       const SearchSpace& space,
                                       const Machines& machines);

// All that differ from `choice` in one decision: of how its workers compute and
// where they are,
std::vector<SearchChoice> TuningMoves(const SearchChoice& choice,
                                      const RunConfig& recipe,
                                      const SearchSpace& space);
// or of how many there are, the lag and the batch.
std::vector<SearchChoice> ShapeMoves(const SearchChoice& choice,
                                     const SearchSpace& space);

}  // namespace gandem
