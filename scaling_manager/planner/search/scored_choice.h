// SPDX-License-Identifier: Apache-2.0
//
// What the models say of one choice of the search.
//
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

// Of the host (or the GPU) that is the fullest.
struct MemoryNeed {
  std::string where = {};
  int64_t bytes = 0;       // with 8 % for what predictions do not know
  int64_t limit = 0;       // 0: none
  std::string field = {};  // of Host, with the limit

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
  // What the objective wants small.
  double cost = 0;

  bool Fits() const { return memory.Share() <= 1; }
  // Those that fit come first, then those that nearly do.
  std::pair<double, double> Rank() const {
    return {Fits() ? 1.0 : memory.Share(), cost};
  }
};

// Seconds of the image that counts, or bytes that the fullest host needs, but
// for a factor that all candidates share. A plan with other batches than the
// recipe's has to be better even if the quality model is as wrong as it may be.
double CostOf(Plan::Objective objective, const ScoredChoice& scored);

// What the models say of a choice. Hosts in which a worker does not fit are
// left to nobody.
//   NOT_FOUND            its workers fit nowhere.
//   FAILED_PRECONDITION  it is no valid config.
//   INVALID_ARGUMENT     it cannot be predicted.
absl::StatusOr<ScoredChoice> ScoreChoice(const SearchChoice& choice,
                                         const ProfileCosts& costs,
                                         const PlanRequest& request,
                                         const PlanModels& models);

// What the models say of a valid config whose workers are placed so; `costs`
// are of the request's profile.
//   INVALID_ARGUMENT  the model knows no speed above 0.
//   those of models.predict.
absl::StatusOr<ScoredChoice> ScoreConfig(const SearchChoice& choice,
                                         RunConfig config, Placement placement,
                                         const ProfileCosts& costs,
                                         const PlanRequest& request,
                                         const PlanModels& models);

// `a` asks for less: no second process, fewer workers, a smaller lag, uncut
// steps.
bool IsSimpler(const SearchChoice& a, const SearchChoice& b);

}  // namespace gandem
