// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "scaling_manager/planner/search/scored_choice.h"
#include "scaling_manager/planner/search/search_reasons.h"

namespace gandem {
namespace {

constexpr size_t kMostCandidates = 10;
// Choices that are changed step by step, of those that fit and of those that do
// not yet.
constexpr size_t kBeam = 12;
constexpr int kMostSteps = 12;
// More would take longer than a user waits.
constexpr size_t kMostPredictions = 20'000;
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

bool IsBetter(const ScoredChoice* a, const ScoredChoice* b) {
  if (a->Rank() != b->Rank()) return a->Rank() < b->Rank();
  return IsSimpler(a->choice, b->choice);
}

class PlanSearch {
 public:
  PlanSearch(const PlanRequest& request, const PlanModels& models)
      : request_(request),
        models_(models),
        base_(ChoiceOf(request.recipe, request.space)) {}

  absl::StatusOr<Plan> Run();

 private:
  using Row = std::vector<const ScoredChoice*>;

  // Null: it cannot be run or predicted; the first reason of each kind is kept.
  const ScoredChoice* Score(const SearchChoice& choice);
  std::optional<ScoredChoice> Predicted(const SearchChoice& choice);
  void Explore();
  Row Starts() const;
  // Changes one decision after the other while that helps; `shape`: also those
  // on how many workers there are.
  const ScoredChoice* Improve(const ScoredChoice* from, bool shape);
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
  std::map<SearchChoice, std::optional<ScoredChoice>> scored_;
  std::string invalid_;       // why the first config is none
  absl::Status unpredicted_;  // why the first prediction failed
};

std::optional<ScoredChoice> PlanSearch::Predicted(const SearchChoice& choice) {
  Placement placement = PlaceWorkers(request_.machines, choice);
  if (placement.workers_size() == 0) return std::nullopt;
  RunConfig config = ConfigOf(request_.recipe, choice);
  std::vector<std::string> reasons = models_.choose_optimizers(config);
  const absl::Status valid = ValidateRunConfig(config);
  if (!valid.ok()) {
    if (invalid_.empty()) invalid_ = std::string(valid.message());
    return std::nullopt;
  }
  absl::StatusOr<ScoredChoice> scored =
      ScoreConfig(choice, config, std::move(placement), request_, models_);
  // Hosts are filled without a look at their memory: those in which a worker
  // does not fit are left to nobody.
  for (Machines machines = request_.machines; scored.ok() && !scored->Fits();) {
    machines = RoomierThan(scored->memory.limit, machines);
    Placement elsewhere = PlaceWorkers(machines, choice);
    if (elsewhere.workers_size() == 0) break;
    absl::StatusOr<ScoredChoice> other =
        ScoreConfig(choice, config, std::move(elsewhere), request_, models_);
    if (!other.ok() || other->Rank() >= scored->Rank()) break;
    scored = std::move(other);
  }
  if (!scored.ok()) {
    if (unpredicted_.ok()) unpredicted_ = scored.status();
    return std::nullopt;
  }
  scored->optimizer_reasons = std::move(reasons);
  return *std::move(scored);
}

const ScoredChoice* PlanSearch::Score(const SearchChoice& choice) {
  auto at = scored_.find(choice);
  if (at == scored_.end()) {
    if (scored_.size() >= kMostPredictions) return nullptr;
    at = scored_.emplace(choice, Predicted(choice)).first;
  }
  return at->second.has_value() ? &*at->second : nullptr;
}

void PlanSearch::Explore() {
  for (const SearchChoice& choice :
       FirstChoices(base_, request_.space, request_.machines)) {
    Score(choice);
  }
  for (const ScoredChoice* const start : Starts()) {
    const ScoredChoice* const tuned = Improve(start, /*shape=*/false);
    Improve(tuned, /*shape=*/true);
  }
}

PlanSearch::Row PlanSearch::Starts() const {
  Row starts;
  for (const bool fits : {true, false}) {
    Row row = BestOfShapes(fits);
    // What does not fit yet may be made to: the fastest first.
    std::ranges::stable_sort(row, {}, &ScoredChoice::cost);
    // Colocated ones are worth knowing in any case; and so is the best for half
    // of the devices, for a quarter of them, and so on: more of them that seem
    // to be better as they are must not hide what fewer become.
    size_t taken = 0;
    int fewest = std::numeric_limits<int>::max();
    for (const ScoredChoice* const scored : row) {
      const int workers = NumWorkers(scored->choice);
      const bool is_smaller = workers <= fewest / 2;
      if (taken++ < kBeam || scored->choice.colocated || is_smaller) {
        starts.push_back(scored);
      }
      if (!scored->choice.colocated) fewest = std::min(fewest, workers);
    }
  }
  return starts;
}

const ScoredChoice* PlanSearch::Improve(const ScoredChoice* from, bool shape) {
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<SearchChoice> moves =
        TuningMoves(from->choice, request_.recipe, request_.space);
    if (shape) {
      const auto more = ShapeMoves(from->choice, request_.space);
      moves.insert(moves.end(), more.begin(), more.end());
    }
    const ScoredChoice* best = from;
    for (const SearchChoice& choice : moves) {
      const ScoredChoice* const scored = Score(choice);
      if (scored != nullptr && IsBetter(scored, best)) best = scored;
    }
    if (best == from) break;
    from = best;
  }
  return from;
}

PlanSearch::Row PlanSearch::BestOfShapes(bool fits) const {
  std::map<decltype(ShapeKey({})), Row> shapes;
  for (const auto& [choice, scored] : scored_) {
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
  for (const auto& [choice, scored] : scored_) {
    if (!scored.has_value() || !scored->Fits()) continue;
    const double cost = CostOf(Plan::TIME_TO_QUALITY, *scored);
    if (any == 0 || cost < any) any = cost;
    const bool is_synchronous = choice.lag == 0 && choice.batch_doublings == 0;
    if (is_synchronous && (best == 0 || cost < best)) best = cost;
  }
  return best > 0 ? best : any;
}

absl::Status PlanSearch::WhyNone() const {
  const Row nearly = BestOfShapes(/*fits=*/false);
  if (!nearly.empty()) return NoneFits(*nearly.front(), base_, request_);
  if (!unpredicted_.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no plan can be predicted: ", unpredicted_.message()));
  }
  if (!invalid_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no plan can be run: ", invalid_));
  }
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
