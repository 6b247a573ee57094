// SPDX-License-Identifier: Apache-2.0
//
// What the models say of the choices that a search looks at, each asked once.
//
// Owner: the search. Thread safety: one thread; the models are asked by several
// at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "scaling_manager/planner/model/profile_costs.h"
#include "scaling_manager/planner/search/scored_choice.h"

namespace gandem {

class ChoiceScorer {
 public:
  using Scores = std::map<SearchChoice, std::optional<ScoredChoice>>;

  // `request` and the costs of its profile outlive it.
  ChoiceScorer(const PlanRequest& request, const ProfileCosts& costs,
               PlanModels models)
      : request_(request), costs_(costs), models_(std::move(models)) {}

  // Asks for all of them, on all cores.
  void ScoreAll(std::span<const SearchChoice> choices);
  // Null: it cannot be run or predicted, or too much was asked already.
  const ScoredChoice* Score(const SearchChoice& choice);

  const Scores& scores() const { return scores_; }
  // Nothing more is asked.
  bool is_full() const;

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
  Scores scores_;
  bool has_scored_ = false;
  std::string invalid_;
  absl::Status unpredicted_;
};

}  // namespace gandem
