// SPDX-License-Identifier: Apache-2.0
//
// What the models say of the choices that a search looks at.
//
// Owner: the search. Thread safety: one thread; the models are asked by several
// at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "scaling_manager/planner/model/profile_costs.h"
#include "scaling_manager/planner/search/scored_choice.h"

namespace gandem {

class ChoiceScorer {
 public:
  // `request` and the costs of its profile outlive it.
  ChoiceScorer(const PlanRequest& request, const ProfileCosts& costs,
               PlanModels models)
      : request_(request), costs_(costs), models_(std::move(models)) {}

  // Asks on all cores; without those that cannot be run or predicted, else in
  // their order.
  std::vector<ScoredChoice> ScoreAll(std::span<const SearchChoice> choices);

  // Why the first choice that could not be predicted could not, else why the
  // first one was no config. OK: all were both.
  absl::Status WhyNot() const;

 private:
  struct Answer {
    std::optional<ScoredChoice> scored = {};
    std::string invalid = {};  // why the config is none
    absl::Status unpredicted = {};
  };

  Answer Ask(const SearchChoice& choice) const;

  const PlanRequest& request_;
  const ProfileCosts& costs_;
  const PlanModels models_;
  bool has_scored_ = false;
  std::string invalid_;
  absl::Status unpredicted_;
};

}  // namespace gandem
