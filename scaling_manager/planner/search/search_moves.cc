// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "scaling_manager/planner/search/search_space.h"

namespace gandem {
namespace {

using Feedback = ScheduleConfig::FeedbackMode;

// A forward pass of fewer images is slow, and batch norm needs about as many
// (Wu and He 2018, figure 1).
constexpr int64_t kLeastPass = 8;

// Those whose place is next to `value`'s.
template <typename T>
std::vector<T> BesideIn(const std::vector<T>& values, const T& value) {
  const auto at = std::ranges::find(values, value);
  std::vector<T> beside;
  if (at == values.end()) return beside;
  if (at != values.begin()) beside.push_back(*(at - 1));
  if (at + 1 != values.end()) beside.push_back(*(at + 1));
  return beside;
}

// The micro-batches next to that of `role` in the row: all of a rank's batch,
// half of it, a quarter ...
std::vector<int64_t> MicroBatchesBeside(const RoleChoice& role, int64_t batch) {
  const int64_t rank_batch = (batch + role.workers - 1) / role.workers;
  const int64_t now = role.micro_batch == 0
                          ? rank_batch
                          : std::min(role.micro_batch, rank_batch);
  std::vector<int64_t> beside;
  if (now / 2 >= kLeastPass) beside.push_back(now / 2);
  if (now < rank_batch) beside.push_back(2 * now >= rank_batch ? 0 : 2 * now);
  return beside;
}

// The lags that tell most: none, the usual one, and the largest.
std::vector<int64_t> FirstLags(const SearchSpace& space) {
  std::vector<int64_t> lags;
  for (const int64_t lag : space.lags) {
    if (lag <= 1 || lag == space.lags.front()) lags.push_back(lag);
  }
  return lags;
}

// Pairs of threads that fit, with nothing larger that fits, too; and the
// fewest, with which most workers share a host: no message of theirs travels.
std::vector<SearchChoice> WithSomeThreads(SearchChoice choice,
                                          const SearchSpace& space,
                                          const Machines& machines) {
  std::vector<SearchChoice> result;
  int most = 0;  // of the discriminator beside more threads of the generator
  for (size_t i = space.generator_threads.size(); i-- > 0;) {
    choice.generator.threads = space.generator_threads[i];
    for (size_t j = space.discriminator_threads.size(); j-- > 0;) {
      choice.discriminator.threads = space.discriminator_threads[j];
      if (choice.discriminator.threads <= most) break;
      if (PlaceWorkers(machines, choice).workers_size() == 0) continue;
      most = choice.discriminator.threads;
      result.push_back(choice);
      break;
    }
  }
  choice.generator.threads = space.generator_threads.front();
  choice.discriminator.threads = space.discriminator_threads.front();
  if (!result.empty() && std::ranges::find(result, choice) == result.end()) {
    result.push_back(choice);
  }
  return result;
}

// Of many workers those that take nearly all of the machines, nearly half of
// them, nearly a quarter ...: what lies between is found from there.
bool IsFirstChoice(const SearchChoice& choice, const Machines& machines) {
  constexpr int kFewWorkers = 16;
  const RoleChoice& generator = choice.generator;
  const RoleChoice& discriminator = choice.discriminator;
  if (generator.workers + discriminator.workers <= kFewWorkers) return true;
  const auto part_of = [&machines](const RoleChoice& role) {
    return static_cast<double>(role.workers) /
           MostWorkers(machines, role.threads);
  };
  double part = part_of(generator) + part_of(discriminator);
  while (part <= 0.5) part *= 2;
  return part > 7.0 / 8;
}

void AddColocated(SearchChoice choice, const SearchSpace& space,
                  std::vector<SearchChoice>& result) {
  choice.colocated = true;
  choice.generator.workers = 1;
  choice.discriminator.workers = 1;
  for (const int threads : space.discriminator_threads) {
    choice.generator.threads = threads;
    choice.discriminator.threads = threads;
    result.push_back(choice);
  }
}

}  // namespace

std::vector<SearchChoice> FirstChoices(const SearchChoice& base,
                                       const SearchSpace& space,
                                       const Machines& machines) {
  std::vector<SearchChoice> shapes;
  SearchChoice choice = base;
  if (space.has_colocated) AddColocated(choice, space, shapes);
  const int devices = NumDevices(machines);
  for (const int generators : space.workers) {
    for (const int discriminators : space.workers) {
      if (!space.has_decoupled || generators + discriminators > devices) break;

      choice.generator.workers = generators;
      choice.discriminator.workers = discriminators;
      for (SearchChoice& shape : WithSomeThreads(choice, space, machines)) {
        if (IsFirstChoice(shape, machines)) shapes.push_back(shape);
      }
    }
  }
  std::vector<SearchChoice> result;
  for (SearchChoice& shape : shapes) {
    for (const Feedback feedback : space.feedbacks) {
      for (const int64_t lag : FirstLags(space)) {
        shape.feedback = feedback;
        shape.lag = lag;
        result.push_back(shape);
      }
    }
  }
  return result;
}

namespace {

// Adds `choice` with one member at each of `values`.
template <typename Choices, typename Set>
void Vary(const SearchChoice& choice, const Choices& values, Set set,
          std::vector<SearchChoice>& result) {
  for (const auto& value : values) {
    SearchChoice other = choice;
    set(other, value);
    if (other != choice) result.push_back(other);
  }
}

void SetCompute(const RoleChoice& compute, RoleChoice& role) {
  role.precision = compute.precision;
  role.layout = compute.layout;
}

void VaryThreads(const SearchChoice& choice, const SearchSpace& space,
                 std::vector<SearchChoice>& result) {
  Vary(
      choice,
      BesideIn(space.discriminator_threads, choice.discriminator.threads),
      [](SearchChoice& other, int threads) {
        other.discriminator.threads = threads;
        if (other.colocated) other.generator.threads = threads;
      },
      result);
  if (choice.colocated) return;
  Vary(
      choice, BesideIn(space.generator_threads, choice.generator.threads),
      [](SearchChoice& other, int threads) {
        other.generator.threads = threads;
      },
      result);
}

void VaryComputes(const SearchChoice& choice, const SearchSpace& space,
                  std::vector<SearchChoice>& result) {
  Vary(
      choice, space.generator_computes,
      [](SearchChoice& other, const RoleChoice& compute) {
        SetCompute(compute, other.generator);
      },
      result);
  Vary(
      choice, space.discriminator_computes,
      [](SearchChoice& other, const RoleChoice& compute) {
        SetCompute(compute, other.discriminator);
      },
      result);
}

// One role's, and both together where the larger one is what counts.
void VaryMicroBatches(const SearchChoice& choice, const RunConfig& recipe,
                      std::vector<SearchChoice>& result) {
  const std::vector<int64_t> generator = MicroBatchesBeside(
      choice.generator,
      ScaledBatch(recipe.generator().batch_size(), choice.batch_doublings));
  const std::vector<int64_t> discriminator = MicroBatchesBeside(
      choice.discriminator,
      ScaledBatch(recipe.discriminator().batch_size(), choice.batch_doublings));
  Vary(
      choice, generator,
      [](SearchChoice& other, int64_t n) { other.generator.micro_batch = n; },
      result);
  Vary(
      choice, discriminator,
      [](SearchChoice& other, int64_t n) {
        other.discriminator.micro_batch = n;
      },
      result);
  for (size_t i = 0; i < std::min(generator.size(), discriminator.size());
       ++i) {
    SearchChoice both = choice;
    both.generator.micro_batch = generator[i];
    both.discriminator.micro_batch = discriminator[i];
    result.push_back(both);
  }
}

}  // namespace

std::vector<SearchChoice> TuningMoves(const SearchChoice& choice,
                                      const RunConfig& recipe,
                                      const SearchSpace& space) {
  std::vector<SearchChoice> result;
  VaryThreads(choice, space, result);
  VaryComputes(choice, space, result);
  if (!choice.colocated) {
    Vary(
        choice, space.spreads,
        [](SearchChoice& other, WorkerSpread spread) { other.spread = spread; },
        result);
  }
  if (choice.generator.workers + choice.discriminator.workers > 2) {
    Vary(
        choice, space.averages,
        [](SearchChoice& other, int64_t every) { other.average_every = every; },
        result);
  }
  if (space.has_micro_batches) VaryMicroBatches(choice, recipe, result);
  return result;
}

std::vector<SearchChoice> ShapeMoves(const SearchChoice& choice,
                                     const SearchSpace& space) {
  std::vector<SearchChoice> result;
  Vary(
      choice, BesideIn(space.lags, choice.lag),
      [](SearchChoice& other, int64_t lag) { other.lag = lag; }, result);
  Vary(
      choice, space.batch_doublings,
      [](SearchChoice& other, int n) { other.batch_doublings = n; }, result);
  if (choice.colocated) return result;
  Vary(
      choice, BesideIn(space.workers, choice.generator.workers),
      [](SearchChoice& other, int n) { other.generator.workers = n; }, result);
  Vary(
      choice, BesideIn(space.workers, choice.discriminator.workers),
      [](SearchChoice& other, int n) { other.discriminator.workers = n; },
      result);
  return result;
}

}  // namespace gandem
