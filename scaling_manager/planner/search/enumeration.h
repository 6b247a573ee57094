// SPDX-License-Identifier: Apache-2.0
//
// The choices that a plan is looked for among: all shapes, and all ways to run
// one of them. Threads, precisions and layouts are those that were profiled.
//
// Owner: the search. Thread safety: const methods from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "scaling_manager/planner/model/role_costs.h"
#include "scaling_manager/planner/search/search.h"
#include "scaling_manager/planner/search/search_choice.h"

namespace gandem {

class Enumeration {
 public:
  // Batches other than the recipe's are left out unless `is_promising` is true
  // of their doublings. The request outlives the enumeration.
  Enumeration(const PlanRequest& request, const ProfileCosts& costs,
              absl::FunctionRef<bool(int doublings)> is_promising);

  // The choice that the recipe itself is, with one worker a role.
  const SearchChoice& base() const { return base_; }
  // The fewest threads that a discriminator may have.
  int least_threads() const { return discriminator_.threads.front(); }

  // One process for both networks, and all numbers of workers that fit, with
  // every feedback mode and lag: with the recipe's batches and with the largest
  // ones, and with the kernels that are the fastest for their threads.
  std::vector<SearchChoice> Shapes() const;
  // `shape` with every batch, and of each batch every interval of averages with
  // every order of placement, and steps that are cut in a few parts: these
  // travel while others are computed.
  std::vector<SearchChoice> WaysOf(const SearchChoice& shape) const;
  // `way` with every kernel and every cut of the discriminator's step: some
  // take less memory. (A cut of the generator's step takes none off: it holds
  // the graphs of all of its parts.)
  std::vector<SearchChoice> LeanWaysOf(const SearchChoice& way) const;
  // `way` with the discriminator's step in the smallest parts.
  SearchChoice CutMost(SearchChoice way) const;

 private:
  // The choices of a role. Each list has one element at least.
  struct RoleSpace {
    std::vector<int> threads = {};
    // Precision and layout only.
    std::vector<RoleChoice> computes = {};
    std::map<int, RoleChoice> fastest = {};  // of `computes`, by threads
  };

  RoleSpace SpaceOf(Role role, const ProfileCosts& costs) const;
  // Adds `shape` with every feedback mode, lag and extreme batch.
  void AddModes(SearchChoice shape, std::vector<SearchChoice>& shapes) const;
  // The numbers of threads that workers of such a shape may have.
  std::vector<SearchChoice> WithThreads(SearchChoice shape) const;
  // Micro-batches of a role of `way` that are halves of the one before, from
  // what it has now down to the smallest.
  std::vector<int64_t> Cuts(Role role, const SearchChoice& way) const;
  void AddCuts(SearchChoice way, std::vector<SearchChoice>& ways) const;

  const PlanRequest& request_;
  const RoleSpace generator_;
  const RoleSpace discriminator_;
  std::vector<int64_t> lags_;
  std::vector<int> batch_doublings_;
  SearchChoice base_;
};

}  // namespace gandem
