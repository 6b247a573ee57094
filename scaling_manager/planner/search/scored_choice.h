// SPDX-License-Identifier: Apache-2.0
//
// Predictions of the models for one choice of the search.
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner/model/role_costs.h"
#include "scaling_manager/planner/quality/quality.h"
#include "scaling_manager/planner/search/search.h"
#include "scaling_manager/planner/search/search_choice.h"

namespace gandem {

// Memory of the fullest host, or of the fullest GPU.
struct MemoryNeed {
  std::string where = {};
  int64_t bytes = 0;  // includes a reserve of 8 % for errors of predictions
  int64_t limit = 0;  // 0: none
  std::string field = {};  // field of Host that has the limit

  double Share() const {
    return limit > 0 ? static_cast<double>(bytes) / static_cast<double>(limit)
                     : 0;
  }
};

struct ScoredChoice {
  SearchChoice choice = {};
  Candidate candidate = {};
  ImagesNeeded images = {};
  std::vector<std::string> optimizer_reasons = {};
  MemoryNeed memory = {};
  // Value that the objective minimizes.
  double cost = 0;

  bool Fits() const { return memory.Share() <= 1; }
  // Sorts choices that fit first, the others by how nearly they fit.
  std::pair<double, double> Rank() const {
    return {Fits() ? 1.0 : memory.Share(), cost};
  }
};

// Returns the seconds per image, the seconds per effective image, or the bytes
// on the fullest host, up to a common factor. If the batches differ from the
// recipe's, the upper bound of the quality model counts.
double CostOf(Plan::Objective objective, const ScoredChoice& scored);

// Scores a choice. Skips hosts whose memory is too small for its workers, where
// possible.
//   NOT_FOUND  the workers do not fit the machines
//   FAILED_PRECONDITION  the config is invalid
//   INVALID_ARGUMENT  the choice cannot be predicted
absl::StatusOr<ScoredChoice> ScoreChoice(const SearchChoice& choice,
                                         const ProfileCosts& costs,
                                         const PlanRequest& request,
                                         const PlanModels& models);

// Scores a valid config with the given placement. `costs` must be of the
// request's profile. Returns errors of models.predict, and
//   INVALID_ARGUMENT  the predicted speed is not above 0
absl::StatusOr<ScoredChoice> ScoreConfig(const SearchChoice& choice,
                                         RunConfig config, Placement placement,
                                         const ProfileCosts& costs,
                                         const PlanRequest& request,
                                         const PlanModels& models);

// Returns whether `a` has fewer processes and workers, less lag, uncut steps.
bool IsSimpler(const SearchChoice& a, const SearchChoice& b);

}  // namespace gandem
