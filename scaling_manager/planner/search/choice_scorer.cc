// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/choice_scorer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/process/machine.h"
#include "common/process/thread.h"

namespace gandem {
namespace {

constexpr size_t kMostThreads = 16;

// Of a size above 0: work(0) to work(size - 1), the first `alone` of them
// before others begin.
void ForEachInParallel(size_t size, size_t alone,
                       absl::FunctionRef<void(size_t)> work) {
  for (size_t i = 0; i < alone; ++i) work(i);
  std::atomic<size_t> next = alone;
  const auto run = [&] {
    for (size_t i = next++; i < size; i = next++) work(i);
  };
  std::vector<Thread> others;
  const size_t threads = std::min(
      {kMostThreads, size - alone, static_cast<size_t>(UsableCores())});
  for (size_t i = 1; i < threads; ++i) others.emplace_back("plan", run);
  run();
}

}  // namespace

std::vector<ScoredChoice> ChoiceScorer::ScoreAll(
    std::span<const SearchChoice> choices) {
  std::vector<ScoredChoice> scored;
  if (choices.empty()) return scored;
  std::vector<Answer> answers(choices.size());
  // What libraries make when they are first used (defaults of messages) is
  // there before other threads.
  const size_t alone = has_scored_ ? 0 : 1;
  ForEachInParallel(choices.size(), alone,
                    [&](size_t i) { answers[i] = Ask(choices[i]); });
  for (Answer& answer : answers) {
    if (answer.scored.has_value()) {
      scored.push_back(*std::move(answer.scored));
      continue;
    }
    if (invalid_.empty()) invalid_ = std::move(answer.invalid);
    if (unpredicted_.ok()) unpredicted_ = std::move(answer.unpredicted);
  }
  has_scored_ = has_scored_ || !scored.empty();
  return scored;
}

ChoiceScorer::Answer ChoiceScorer::Ask(const SearchChoice& choice) const {
  Placement placement = PlaceWorkers(request_.machines, choice);
  if (placement.workers_size() == 0) return {};
  RunConfig config = ConfigOf(request_.recipe, choice);
  std::vector<std::string> reasons = models_.choose_optimizers(config);
  const absl::Status valid = ValidateRunConfig(config);
  if (!valid.ok()) return {.invalid = std::string(valid.message())};
  absl::StatusOr<ScoredChoice> scored = ScoreConfig(
      choice, config, std::move(placement), costs_, request_, models_);
  // Hosts are filled without a look at their memory: those in which a worker
  // does not fit are left to nobody.
  for (Machines machines = request_.machines; scored.ok() && !scored->Fits();) {
    machines = RoomierThan(scored->memory.limit, machines);
    Placement elsewhere = PlaceWorkers(machines, choice);
    if (elsewhere.workers_size() == 0) break;
    absl::StatusOr<ScoredChoice> other = ScoreConfig(
        choice, config, std::move(elsewhere), costs_, request_, models_);
    if (!other.ok() || other->Rank() >= scored->Rank()) break;
    scored = std::move(other);
  }
  if (!scored.ok()) return {.unpredicted = scored.status()};
  scored->optimizer_reasons = std::move(reasons);
  return {.scored = *std::move(scored)};
}

absl::Status ChoiceScorer::WhyNot() const {
  if (!unpredicted_.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no plan can be predicted: ", unpredicted_.message()));
  }
  if (!invalid_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no plan can be run: ", invalid_));
  }
  return absl::OkStatus();
}

}  // namespace gandem
