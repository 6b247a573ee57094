// SPDX-License-Identifier: Apache-2.0
//
// Search space of a plan: all shapes, and all ways to run one of them. Threads,
// precisions and layouts are those that were profiled.
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
  // Leaves out batches other than the recipe's unless `is_promising` returns
  // true for their doublings. `request` must outlive the enumeration.
  Enumeration(const PlanRequest& request, const ProfileCosts& costs,
              absl::FunctionRef<bool(int doublings)> is_promising);

  // Returns the recipe as a choice, with one worker per role.
  const SearchChoice& base() const { return base_; }
  // Returns the fewest threads that a discriminator may have.
  int least_threads() const { return discriminator_.threads.front(); }

  // Returns colocated shapes, and all worker counts that fit, with every
  // feedback mode and lag. Each is listed with the recipe's and with the
  // largest batches, and has the fastest kernels for its threads.
  std::vector<SearchChoice> Shapes() const;
  // Returns `shape` with every batch and, for each batch, every averaging
  // interval with every order of placement, and steps cut into a few parts,
  // which are sent while others are computed.
  std::vector<SearchChoice> WaysOf(const SearchChoice& shape) const;
  // Returns `way` with every kernel and every cut of the discriminator's step,
  // some of which take less memory. Cutting the generator's step saves no
  // memory, because it keeps the graphs of all of its parts.
  std::vector<SearchChoice> LeanWaysOf(const SearchChoice& way) const;
  // Returns `way` with the discriminator's step cut into the smallest parts.
  SearchChoice CutMost(SearchChoice way) const;

 private:
  // Choices of a role. Each list has at least one element.
  struct RoleSpace {
    std::vector<int> threads = {};
    std::vector<RoleChoice> computes = {};
    std::map<int, RoleChoice> fastest = {};  // of `computes`, by threads
  };

  RoleSpace SpaceOf(Role role, const ProfileCosts& costs) const;
  void AddModes(SearchChoice shape, std::vector<SearchChoice>& shapes) const;
  std::vector<SearchChoice> WithThreads(SearchChoice shape) const;
  // Returns micro-batches of a role of `way`, each half of the previous one,
  // from the current size down to the smallest.
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
