// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "scaling_manager/planner/search/choice_scorer.h"
#include "scaling_manager/planner/search/scored_choice.h"
#include "scaling_manager/planner/search/search_reasons.h"

namespace gandem {
namespace {

constexpr size_t kMostCandidates = 10;
// Choices that are changed step by step, of those that fit and of those that do
// not yet.
constexpr size_t kBeam = 12;
constexpr int kMostSteps = 12;
// Of each feedback and lag so many first choices are predicted, the best by a
// rough prediction;
constexpr size_t kMostOfAKind = 24;
// what so many of them become by the best changes,
constexpr size_t kRoughStarts = 8;
// and of a choice the changes that are by it not this much worse.
constexpr double kRoughlyAsGood = 1.2;
// The cost model is right to about 5 %.
constexpr double kSameCost = 0.02;
constexpr double kSameMemoryNeed = 0.005;

// What the user sees as one way to run: the rest is fine tuning.
auto ShapeKey(const SearchChoice& choice) {
  return std::tuple(choice.colocated, choice.generator.workers,
                    choice.discriminator.workers, choice.feedback, choice.lag);
}

int NumWorkers(const SearchChoice& choice) {
  return choice.generator.workers + choice.discriminator.workers;
}

// With the recipe's batch.
bool IsSynchronous(const SearchChoice& choice) {
  return choice.lag == 0 && choice.batch_doublings == 0;
}

PlanModels RoughModels(PlanModels models) {
  if (models.predict_roughly) models.predict = models.predict_roughly;
  return models;
}

bool IsBetter(const ScoredChoice* a, const ScoredChoice* b) {
  if (a->Rank() != b->Rank()) return a->Rank() < b->Rank();
  return IsSimpler(a->choice, b->choice);
}

// Of those that need as little memory the fastest, where that is the cost.
bool IsCheaper(const ScoredChoice* a, const ScoredChoice* b) {
  const auto key = [](const ScoredChoice* scored) {
    return std::pair(scored->cost,
                     -scored->candidate.prediction().images_per_second());
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return IsSimpler(a->choice, b->choice);
}

class PlanSearch {
 public:
  PlanSearch(const PlanRequest& request, const PlanModels& models)
      : request_(request),
        models_(models),
        base_(ChoiceOf(request.recipe, request.space)),
        costs_(request.profile),
        exact_(request, costs_, models),
        rough_(request, costs_, RoughModels(models)) {}

  absl::StatusOr<Plan> Run();

 private:
  using Row = std::vector<const ScoredChoice*>;

  // Of `choices` those that are worth a prediction.
  std::vector<SearchChoice> Promising(std::vector<SearchChoice> choices);
  // Without those that are clearly worse than `from`.
  void RemoveWorse(const SearchChoice& from, std::vector<SearchChoice>& moves);
  void Explore();
  // The first of `ranked`, and whatever is the best for half of the devices,
  // for a quarter of them, and so on: more of them that seem to be better as
  // they are must not hide what fewer become.
  static Row WithFewerWorkers(const Row& ranked, size_t first);
  Row Starts() const;
  // Changes one decision after the other while that helps; `shape`: also those
  // on how many workers there are.
  const ScoredChoice* Improve(const ScoredChoice* from, bool shape,
                              ChoiceScorer& scorer);
  // The best of each shape, the best shape first.
  Row BestOfShapes(bool fits) const;
  // Without those beyond the first ten, but with a colocated and a decoupled
  // one.
  static Row TopTen(const Row& ranked);
  // Of those that cost about as much as the first, the simplest comes first.
  // Of those that need about as little memory, the fastest does.
  void PreferSimple(Row& ranked) const;
  double BestSynchronousCost() const;
  absl::Status WhyNone() const;

  const PlanRequest& request_;
  const PlanModels& models_;
  const SearchChoice base_;
  const ProfileCosts costs_;
  ChoiceScorer exact_;
  ChoiceScorer rough_;
};

std::vector<SearchChoice> PlanSearch::Promising(
    std::vector<SearchChoice> choices) {
  if (!models_.predict_roughly) return choices;
  const auto kind = [](const ScoredChoice& scored) {
    return std::tuple(!scored.Fits(), scored.choice.colocated,
                      scored.choice.feedback, scored.choice.lag);
  };
  std::map<decltype(kind(ScoredChoice())), Row> kinds;
  rough_.ScoreAll(choices);
  for (const SearchChoice& choice : choices) {
    const ScoredChoice* const scored = rough_.Score(choice);
    if (scored != nullptr) kinds[kind(*scored)].push_back(scored);
  }
  choices.clear();
  for (auto& [key, row] : kinds) {
    std::ranges::sort(row, IsCheaper);
    for (const ScoredChoice* const scored :
         WithFewerWorkers(row, kMostOfAKind)) {
      choices.push_back(scored->choice);
    }
    for (size_t i = 0; i < std::min(row.size(), kRoughStarts); ++i) {
      choices.push_back(Improve(row[i], /*shape=*/true, rough_)->choice);
    }
    if (!IsSynchronous(row.front()->choice)) continue;
    // What all are compared with is fast, whatever the objective.
    const auto cost = [](const ScoredChoice* scored) {
      return CostOf(Plan::TIME_TO_QUALITY, *scored);
    };
    std::ranges::sort(row, {}, cost);
    row.resize(std::min(row.size(), kBeam));
    for (const ScoredChoice* const scored : row) {
      choices.push_back(scored->choice);
    }
  }
  return choices;
}

void PlanSearch::RemoveWorse(const SearchChoice& from,
                             std::vector<SearchChoice>& moves) {
  if (!models_.predict_roughly) return;
  rough_.ScoreAll(moves);
  if (rough_.is_full()) return;
  const ScoredChoice* const now = rough_.Score(from);
  std::erase_if(moves, [&](const SearchChoice& move) {
    const ScoredChoice* const then = rough_.Score(move);
    if (now == nullptr || then == nullptr) return then == nullptr;
    if (!now->Fits()) return false;
    // What would be better if it fitted is said, too.
    return then->cost > (then->Fits() ? kRoughlyAsGood : 1) * now->cost;
  });
}

void PlanSearch::Explore() {
  exact_.ScoreAll(
      Promising(FirstChoices(base_, request_.space, request_.machines)));
  for (const ScoredChoice* const start : Starts()) {
    const ScoredChoice* const tuned = Improve(start, /*shape=*/false, exact_);
    Improve(tuned, /*shape=*/true, exact_);
  }
}

PlanSearch::Row PlanSearch::Starts() const {
  Row starts;
  for (const bool fits : {true, false}) {
    Row row = BestOfShapes(fits);
    // What does not fit yet may be made to: the fastest first.
    std::ranges::stable_sort(row, {}, &ScoredChoice::cost);
    const Row some = WithFewerWorkers(row, kBeam);
    starts.insert(starts.end(), some.begin(), some.end());
    // All are compared with a synchronous one.
    const auto synchronous =
        std::ranges::find_if(row, [](const ScoredChoice* scored) {
          return IsSynchronous(scored->choice);
        });
    if (synchronous != row.end()) starts.push_back(*synchronous);
  }
  return starts;
}

PlanSearch::Row PlanSearch::WithFewerWorkers(const Row& ranked, size_t first) {
  Row row;
  int fewest = std::numeric_limits<int>::max();
  for (size_t i = 0; i < ranked.size(); ++i) {
    const SearchChoice& choice = ranked[i]->choice;
    const int workers = NumWorkers(choice);
    // Colocated ones are worth knowing in any case.
    if (i >= first && !choice.colocated && workers > fewest / 2) continue;
    row.push_back(ranked[i]);
    if (!choice.colocated) fewest = std::min(fewest, workers);
  }
  return row;
}

const ScoredChoice* PlanSearch::Improve(const ScoredChoice* from, bool shape,
                                        ChoiceScorer& scorer) {
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<SearchChoice> moves =
        TuningMoves(from->choice, request_.recipe, request_.space);
    if (shape) {
      const auto more = ShapeMoves(from->choice, request_.space);
      moves.insert(moves.end(), more.begin(), more.end());
    }
    if (&scorer == &exact_) RemoveWorse(from->choice, moves);
    scorer.ScoreAll(moves);
    const ScoredChoice* best = from;
    for (const SearchChoice& choice : moves) {
      const ScoredChoice* const scored = scorer.Score(choice);
      if (scored != nullptr && IsBetter(scored, best)) best = scored;
    }
    if (best == from) break;
    from = best;
  }
  return from;
}

PlanSearch::Row PlanSearch::BestOfShapes(bool fits) const {
  std::map<decltype(ShapeKey({})), Row> shapes;
  for (const auto& [choice, scored] : exact_.scores()) {
    if (!scored.has_value() || scored->Fits() != fits) continue;
    shapes[ShapeKey(choice)].push_back(&*scored);
  }
  Row row;
  for (auto& [key, ways] : shapes) {
    std::ranges::sort(ways, IsBetter);
    // What does not fit is to fit as nearly as it can.
    if (fits) PreferSimple(ways);
    row.push_back(ways.front());
  }
  std::ranges::sort(row, IsBetter);
  return row;
}

void PlanSearch::PreferSimple(Row& ranked) const {
  const bool is_memory = request_.objective == Plan::MEMORY;
  const double most =
      ranked.front()->cost * (1 + (is_memory ? kSameMemoryNeed : kSameCost));
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

PlanSearch::Row PlanSearch::TopTen(const Row& ranked) {
  Row row(ranked.begin(),
          ranked.begin() +
              static_cast<int64_t>(std::min(ranked.size(), kMostCandidates)));
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

double PlanSearch::BestSynchronousCost() const {
  double best = 0;
  double any = 0;
  for (const auto& [choice, scored] : exact_.scores()) {
    if (!scored.has_value() || !scored->Fits()) continue;
    const double cost = CostOf(Plan::TIME_TO_QUALITY, *scored);
    if (any == 0 || cost < any) any = cost;
    if (IsSynchronous(choice) && (best == 0 || cost < best)) best = cost;
  }
  return best > 0 ? best : any;
}

absl::Status PlanSearch::WhyNone() const {
  const Row nearly = BestOfShapes(/*fits=*/false);
  if (!nearly.empty()) return NoneFits(*nearly.front(), base_, request_);
  GANDEM_RETURN_IF_ERROR(exact_.WhyNot());
  // What cannot be predicted roughly was not predicted.
  GANDEM_RETURN_IF_ERROR(rough_.WhyNot());
  return absl::InvalidArgumentError(absl::StrCat(
      "no worker fits the machines: the profile's least number of threads is ",
      request_.space.discriminator_threads.front(),
      ", and no host has that many cores; profile with fewer threads (--set "
      "discriminator.threads=1)"));
}

absl::StatusOr<Plan> PlanSearch::Run() {
  Explore();
  Row ranked = BestOfShapes(/*fits=*/true);
  if (ranked.empty()) return WhyNone();
  PreferSimple(ranked);
  const Row top = TopTen(ranked);
  const double synchronous = BestSynchronousCost();
  Plan plan;
  plan.set_objective(request_.objective);
  *plan.mutable_machines() = request_.machines;
  std::vector<ScoredChoice> shown;
  for (const ScoredChoice* const scored : top) {
    shown.push_back(*scored);
    Candidate& candidate = shown.back().candidate;
    candidate.set_name(NameOf(request_.recipe, scored->choice, base_));
    Prediction& prediction = *candidate.mutable_prediction();
    prediction.set_time_to_quality(
        scored->images.factor / prediction.images_per_second() / synchronous);
    *candidate.mutable_config() = EffectiveConfig(candidate.config());
    *plan.add_candidates() = candidate;
  }
  for (std::string& reason :
       ReasonsFor(shown, BestOfShapes(/*fits=*/false), request_, models_)) {
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
