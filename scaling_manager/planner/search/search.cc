// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "scaling_manager/planner/search/enumeration.h"
#include "scaling_manager/planner/search/scored_choice.h"
#include "scaling_manager/planner/search/search_reasons.h"

namespace gandem {
namespace {

constexpr size_t kMostCandidates = 10;
// Numbers of shapes whose ways are ranked: fitting, and fitting after a cut.
constexpr size_t kMostShapes = 24;
constexpr size_t kMostTooLarge = 8;
// Limits on the number of simulated choices (chosen): the best shapes come
// first, then the best of each fleet, then the best with each batch.
constexpr size_t kMostSimulated = 20;
constexpr size_t kMostSimulatedShapes = 11;
constexpr size_t kMostSimulatedFleets = 17;
// Relative difference of equal costs; the cost model has an error of 5 %.
constexpr double kSameCost = 0.02;
constexpr double kSameMemoryNeed = 0.005;
// Relative difference of equal costs between ways to run one shape.
constexpr double kSameWay = 0.005;

// Returns the fields that define a way to run for the user; others are tuning.
auto ShapeKey(const SearchChoice& choice) {
  return std::tuple(choice.colocated, choice.generator.workers,
                    choice.discriminator.workers, choice.feedback, choice.lag);
}

auto FleetKey(const SearchChoice& choice) {
  return std::tuple(choice.colocated, choice.generator.workers,
                    choice.discriminator.workers);
}

auto ShapeAndBatchKey(const SearchChoice& choice) {
  return std::pair(ShapeKey(choice), choice.batch_doublings);
}

bool IsSynchronous(const SearchChoice& choice) {
  return choice.lag == 0 && choice.batch_doublings == 0;
}

bool IsBetter(const ScoredChoice* a, const ScoredChoice* b) {
  if (a->Rank() != b->Rank()) return a->Rank() < b->Rank();
  return IsSimpler(a->choice, b->choice);
}

class PlanSearch {
 public:
  PlanSearch(const PlanRequest& request, const PlanModels& models)
      : request_(request),
        models_(models),
        costs_(request.profile),
        enumeration_(request, costs_,
                     [this](int doublings) { return IsPromising(doublings); }) {
    ranking_models_.predict = models.predict_roughly;
  }

  absl::StatusOr<Plan> Run();

 private:
  using Scores = std::deque<ScoredChoice>;  // a deque keeps pointers valid
  using Row = std::vector<const ScoredChoice*>;

  // Returns whether larger batches would pay if steps took no longer.
  bool IsPromising(int doublings) const;
  ImagesNeeded ImagesAt(int doublings) const;
  // Adds the score of `choice`, or records the error.
  void Score(const SearchChoice& choice, const PlanModels& models,
             Scores& scores);
  // Scores `choices` with the closed form into ranked_, each only once.
  void Rank(const std::vector<SearchChoice>& choices);
  void RankAll();
  // Returns whether a way with less memory may be worth its time.
  bool WantsLess(const ScoredChoice& scored) const {
    return request_.objective == Plan::MEMORY || !scored.Fits();
  }
  // Returns the shapes for which all ways are ranked, without batches and cuts.
  std::vector<SearchChoice> BestShapes() const;
  void SimulateBest();
  // Returns the best way to run each shape, the best shape first.
  Row BestOfShapes(const Scores& scores, bool fits) const {
    return BestOf(ShapeKey, scores, fits);
  }
  // Returns the best choice for each key.
  template <typename Key>
  Row BestOf(Key key_of, const Scores& scores, bool fits) const;
  // Returns the fastest synchronous choice that fits, or nullptr.
  const ScoredChoice* BestSynchronous(const Scores& scores) const;
  double BestSynchronousCost() const;
  // Returns the first `most`, including a colocated and a decoupled choice.
  static Row First(const Row& ranked, size_t most);
  // Moves the simplest (for the objective MEMORY, the fastest) of the choices
  // that cost at most the share `same` more than the first to the front.
  void PreferSimple(double same, Row& ranked) const;
  absl::Status WhyNone() const;

  const PlanRequest& request_;
  const PlanModels& models_;
  PlanModels ranking_models_ = models_;  // predicts by the closed form
  const ProfileCosts costs_;
  const Enumeration enumeration_;
  // First errors of predictions and of configs.
  absl::Status unpredicted_;
  absl::Status invalid_;
  std::set<SearchChoice> seen_;
  Scores ranked_;
  Scores simulated_;
};

ImagesNeeded PlanSearch::ImagesAt(int doublings) const {
  SearchChoice choice = ChoiceAsItIs(request_.recipe, /*colocated=*/false);
  choice.batch_doublings = doublings;
  RunConfig config = ConfigOf(request_.recipe, choice);
  models_.choose_optimizers(config);
  return models_.images_needed(config);
}

bool PlanSearch::IsPromising(int doublings) const {
  if (request_.objective != Plan::TIME_TO_QUALITY || doublings < 0) return true;
  return ImagesAt(doublings).high <
         ImagesAt(0).factor * static_cast<double>(int64_t{1} << doublings);
}

void PlanSearch::Score(const SearchChoice& choice, const PlanModels& models,
                       Scores& scores) {
  absl::StatusOr<ScoredChoice> scored =
      ScoreChoice(choice, costs_, request_, models);
  if (scored.ok()) {
    scores.push_back(*std::move(scored));
  } else if (absl::IsFailedPrecondition(scored.status())) {
    invalid_.Update(scored.status());
  } else if (!absl::IsNotFound(scored.status())) {
    unpredicted_.Update(scored.status());
  }
}

void PlanSearch::Rank(const std::vector<SearchChoice>& choices) {
  for (const SearchChoice& choice : choices) {
    if (!seen_.insert(choice).second) continue;
    const size_t before = ranked_.size();
    Score(choice, ranking_models_, ranked_);
    if (ranked_.size() == before) continue;
    // Save memory: there are thousands of choices.
    ranked_.back().candidate.clear_config();
    ranked_.back().candidate.clear_placement();
  }
}

void PlanSearch::RankAll() {
  Rank(enumeration_.Shapes());
  std::vector<SearchChoice> choices;
  for (const ScoredChoice& scored : ranked_) {
    if (WantsLess(scored)) {
      choices.push_back(enumeration_.CutMost(scored.choice));
    }
  }
  Rank(choices);
  const std::vector<SearchChoice> shapes = BestShapes();
  choices.clear();
  for (const SearchChoice& shape : shapes) {
    const auto ways = enumeration_.WaysOf(shape);
    choices.insert(choices.end(), ways.begin(), ways.end());
  }
  Rank(choices);
  const std::set<SearchChoice> ways(choices.begin(), choices.end());
  choices.clear();
  for (const ScoredChoice& scored : ranked_) {
    if (!WantsLess(scored) || !ways.contains(scored.choice)) continue;
    const auto lean = enumeration_.LeanWaysOf(scored.choice);
    choices.insert(choices.end(), lean.begin(), lean.end());
  }
  Rank(choices);
}

std::vector<SearchChoice> PlanSearch::BestShapes() const {
  Row fitting;
  Row too_large;
  for (const ScoredChoice& scored : ranked_) {
    (scored.Fits() ? fitting : too_large).push_back(&scored);
  }
  std::ranges::sort(fitting, IsBetter);
  std::ranges::sort(too_large, IsBetter);
  std::vector<SearchChoice> shapes;
  const auto add = [&](const ScoredChoice& scored) {
    SearchChoice shape = scored.choice;
    shape.batch_doublings = 0;
    shape.discriminator.micro_batch =
        enumeration_.base().discriminator.micro_batch;
    if (std::ranges::find(shapes, shape) == shapes.end()) {
      shapes.push_back(shape);
    }
  };
  for (const ScoredChoice* const scored : fitting) {
    if (shapes.size() < kMostShapes || scored->choice.colocated) add(*scored);
  }
  const ScoredChoice* const synchronous = BestSynchronous(ranked_);
  if (synchronous != nullptr) add(*synchronous);
  const size_t most = shapes.size() + kMostTooLarge;
  for (const ScoredChoice* const scored : too_large) {
    if (shapes.size() < most) add(*scored);
  }
  return shapes;
}

void PlanSearch::SimulateBest() {
  const Row fitting = BestOfShapes(ranked_, /*fits=*/true);
  if (fitting.empty()) return;
  std::set<SearchChoice> choices;
  const auto add = [&choices](const Row& ranked, size_t most) {
    for (const ScoredChoice* const scored : ranked) {
      if (choices.size() < most) choices.insert(scored->choice);
    }
  };
  add(First(fitting, kMostSimulatedShapes), kMostSimulatedShapes);
  // Modes and lags of one fleet may be equally fast; leave room for others.
  add(BestOf(FleetKey, ranked_, /*fits=*/true), kMostSimulatedFleets);
  add(BestOf(ShapeAndBatchKey, ranked_, /*fits=*/true), kMostSimulated);
  const ScoredChoice* const synchronous = BestSynchronous(ranked_);
  if (synchronous != nullptr) choices.insert(synchronous->choice);
  // Add the choice that would be better with a little more memory.
  for (const ScoredChoice* const scored :
       BestOfShapes(ranked_, /*fits=*/false)) {
    if (scored->cost >= fitting.front()->cost) continue;
    choices.insert(scored->choice);
    break;
  }
  for (const SearchChoice& choice : choices) Score(choice, models_, simulated_);
}

template <typename Key>
PlanSearch::Row PlanSearch::BestOf(Key key_of, const Scores& scores,
                                   bool fits) const {
  std::map<decltype(key_of(SearchChoice())), Row> groups;
  for (const ScoredChoice& scored : scores) {
    if (scored.Fits() != fits) continue;
    groups[key_of(scored.choice)].push_back(&scored);
  }
  Row row;
  for (auto& [key, ways] : groups) {
    std::ranges::sort(ways, IsBetter);
    // Among choices that do not fit, use the one nearest to fitting.
    if (fits) PreferSimple(kSameWay, ways);
    row.push_back(ways.front());
  }
  std::ranges::sort(row, IsBetter);
  return row;
}

void PlanSearch::PreferSimple(double same, Row& ranked) const {
  const bool is_memory = request_.objective == Plan::MEMORY;
  const double most = ranked.front()->cost * (1 + same);
  const auto end = std::ranges::find_if(
      ranked,
      [most](const ScoredChoice* scored) { return scored->cost > most; });
  const auto simplest = std::min_element(
      ranked.begin(), end, [=](const ScoredChoice* a, const ScoredChoice* b) {
        const double speed = a->candidate.prediction().images_per_second();
        const double other = b->candidate.prediction().images_per_second();
        if (is_memory && speed != other) return speed > other;
        return IsSimpler(a->choice, b->choice);
      });
  std::rotate(ranked.begin(), simplest, simplest + 1);
}

PlanSearch::Row PlanSearch::First(const Row& ranked, size_t most) {
  Row row(ranked.begin(),
          ranked.begin() + static_cast<int64_t>(std::min(ranked.size(), most)));
  for (const bool colocated : {false, true}) {
    const auto is_such = [colocated](const ScoredChoice* scored) {
      return scored->choice.colocated == colocated;
    };
    const auto at = std::ranges::find_if(ranked, is_such);
    if (at != ranked.end() && std::ranges::none_of(row, is_such)) {
      row.back() = *at;
    }
  }
  return row;
}

const ScoredChoice* PlanSearch::BestSynchronous(const Scores& scores) const {
  const ScoredChoice* best = nullptr;
  for (const ScoredChoice& scored : scores) {
    if (!scored.Fits() || !IsSynchronous(scored.choice)) continue;
    const auto cost = [](const ScoredChoice& other) {
      return CostOf(Plan::TIME_TO_QUALITY, other);
    };
    if (best == nullptr || cost(scored) < cost(*best)) best = &scored;
  }
  return best;
}

// Returns the cost of the best synchronous choice, if any, or of the fastest.
double PlanSearch::BestSynchronousCost() const {
  const ScoredChoice* const best = BestSynchronous(simulated_);
  if (best != nullptr) return CostOf(Plan::TIME_TO_QUALITY, *best);
  double least = std::numeric_limits<double>::infinity();
  for (const ScoredChoice& scored : simulated_) {
    if (!scored.Fits()) continue;
    least = std::min(least, CostOf(Plan::TIME_TO_QUALITY, scored));
  }
  return least;
}

absl::Status PlanSearch::WhyNone() const {
  const Row nearly = BestOfShapes(ranked_, /*fits=*/false);
  if (!nearly.empty() && std::ranges::none_of(ranked_, &ScoredChoice::Fits)) {
    return NoneFits(*nearly.front(), enumeration_.base(), request_);
  }
  GANDEM_RETURN_IF_ERROR(unpredicted_);
  if (!invalid_.ok()) return absl::InvalidArgumentError(invalid_.message());
  return absl::InvalidArgumentError(absl::StrCat(
      "no worker fits the machines: the profile's least number of threads is ",
      enumeration_.least_threads(),
      ", and no host has that many cores; profile with fewer threads (--set "
      "discriminator.threads=1)"));
}

absl::StatusOr<Plan> PlanSearch::Run() {
  RankAll();
  SimulateBest();
  Row ranked = BestOfShapes(simulated_, /*fits=*/true);
  if (ranked.empty()) return WhyNone();
  PreferSimple(request_.objective == Plan::MEMORY ? kSameMemoryNeed : kSameCost,
               ranked);
  const Row top = First(ranked, kMostCandidates);
  const double synchronous = BestSynchronousCost();
  Plan plan;
  plan.set_objective(request_.objective);
  *plan.mutable_machines() = request_.machines;
  std::vector<ScoredChoice> shown;
  for (const ScoredChoice* const scored : top) {
    shown.push_back(*scored);
    Candidate& candidate = shown.back().candidate;
    candidate.set_name(
        NameOf(request_.recipe, scored->choice, enumeration_.base()));
    Prediction& prediction = *candidate.mutable_prediction();
    prediction.set_time_to_quality(
        scored->images.factor / prediction.images_per_second() / synchronous);
    *candidate.mutable_config() = EffectiveConfig(candidate.config());
    *plan.add_candidates() = candidate;
  }
  for (std::string& reason :
       ReasonsFor(shown, BestOfShapes(simulated_, /*fits=*/false))) {
    plan.add_reasons(std::move(reason));
  }
  return plan;
}

}  // namespace

absl::StatusOr<Plan> FindPlan(const PlanRequest& request,
                              const PlanModels& models) {
  return PlanSearch(request, models).Run();
}

}  // namespace gandem
