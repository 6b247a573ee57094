// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/enumeration.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "common/config/field_ranges.h"
#include "common/config/role_device.h"
#include "scaling_manager/planner/model/role_costs.h"

namespace gandem {
namespace {

// Smallest pass in images; batch norm needs it (Wu and He 2018, figure 1).
constexpr int64_t kLeastPass = 8;
// Most halvings of a step: a generator's step into eight parts, a
// discriminator's into four. More parts hardly save more time.
constexpr size_t kMostGeneratorCuts = 3;
constexpr size_t kMostDiscriminatorCuts = 2;
// Largest sum up to which every pair of worker counts is tried. Above it,
// counts are powers of two, numbers halfway between, and the remaining devices.
constexpr int kFewWorkers = 16;
// Largest lag up to which every lag is tried. Above it, lags are powers of two.
constexpr int64_t kEveryLag = 4;
constexpr int kMostDoublings = 6;

const RoleConfig& RecipeOf(const RunConfig& recipe, Role role) {
  return role == GENERATOR ? recipe.generator() : recipe.discriminator();
}

std::vector<int> WorkerCounts(int devices) {
  std::set<int> counts;
  for (int i = 1; i <= std::min(devices, kFewWorkers); ++i) counts.insert(i);
  for (int i = kFewWorkers; i < devices; i *= 2) {
    for (const int count : {i, i + i / 2}) {
      if (count >= devices) continue;
      counts.insert(count);
      counts.insert(devices - count);
    }
  }
  for (int i = 1; i <= 4; ++i) {
    if (devices > i) counts.insert(devices - i);
  }
  return {counts.begin(), counts.end()};
}

std::vector<int> BatchDoublings(const RunConfig& recipe,
                                Plan::Objective objective, int64_t max_batch) {
  std::vector<int> doublings = {0};
  if (objective == Plan::MEMORY) return doublings;
  const auto most = static_cast<int64_t>(
      max_batch > 0 ? static_cast<double>(max_batch)
                    : RangeOf<RoleConfig>("batch_size").high);
  const int64_t batch = std::max(recipe.generator().batch_size(),
                                 recipe.discriminator().batch_size());
  for (int i = 1; i <= kMostDoublings && batch << i <= most; ++i) {
    doublings.push_back(i);
  }
  const bool may_halve = recipe.generator().batch_size() % 2 == 0 &&
                         recipe.discriminator().batch_size() % 2 == 0;
  if (objective == Plan::TIME_TO_QUALITY && may_halve) doublings.push_back(-1);
  return doublings;
}

void SetCompute(const RoleChoice& compute, RoleChoice& role) {
  role.precision = compute.precision;
  role.layout = compute.layout;
}

// Returns the kernels with which a step of the recipe takes the least time, or
// the first of `computes` if the profile has no times.
RoleChoice FastestCompute(const ProfileCosts& costs, const RunConfig& recipe,
                          Role role, int threads,
                          const std::vector<RoleChoice>& computes) {
  const RoleConfig& config = RecipeOf(recipe, role);
  ProbeSettings step;
  step.set_batch_size(config.batch_size());
  step.set_feedback(recipe.schedule().feedback());
  step.set_image_source(recipe.schedule().image_source());
  RoleChoice fastest = computes.front();
  double least = std::numeric_limits<double>::infinity();
  for (const RoleChoice& compute : computes) {
    const absl::StatusOr<RoleCosts>& times =
        costs.Of({.role = role,
                  .precision = compute.precision,
                  .layout = compute.layout,
                  .threads = IsOnGpu(config) ? 0 : threads,
                  .feedback = step.feedback(),
                  .image_source = step.image_source()});
    if (!times.ok()) continue;
    const double seconds = ProbedRoundSeconds(role, step, *times);
    if (seconds >= least) continue;
    least = seconds;
    fastest = compute;
  }
  return fastest;
}

std::vector<int64_t> LagsToTry(const SearchLimits& limits) {
  std::vector<int64_t> lags;
  for (int64_t lag = limits.least_lag; lag <= limits.most_lag; ++lag) {
    const bool is_power = (lag & (lag - 1)) == 0;
    if (lag <= kEveryLag || is_power || lag == limits.least_lag) {
      lags.push_back(lag);
    }
  }
  return lags;
}

// Returns whether a shape is ranked. Of many workers, only shapes that use
// nearly all, half, a quarter and so on of the machines are ranked.
bool IsWorthRanking(const SearchChoice& shape, const Machines& machines) {
  const RoleChoice& generator = shape.generator;
  const RoleChoice& discriminator = shape.discriminator;
  if (generator.workers + discriminator.workers <= kFewWorkers) return true;
  const auto part_of = [&machines](const RoleChoice& role) {
    return static_cast<double>(role.workers) /
           MostWorkers(machines, role.threads);
  };
  double part = part_of(generator) + part_of(discriminator);
  while (part <= 0.5) part *= 2;
  return part > 7.0 / 8;
}

}  // namespace

Enumeration::Enumeration(const PlanRequest& request, const ProfileCosts& costs,
                         absl::FunctionRef<bool(int)> is_promising)
    : request_(request),
      generator_(SpaceOf(GENERATOR, costs)),
      discriminator_(SpaceOf(DISCRIMINATOR, costs)),
      lags_(LagsToTry(request.limits)),
      batch_doublings_(BatchDoublings(request.recipe, request.objective,
                                      request.limits.max_batch)) {
  std::erase_if(batch_doublings_, [&](int doublings) {
    return doublings != 0 && !is_promising(doublings);
  });
  base_ = ChoiceAsItIs(request.recipe, /*colocated=*/false);
  base_.generator.workers = 1;
  base_.discriminator.workers = 1;
  SetCompute(generator_.computes.front(), base_.generator);
  SetCompute(discriminator_.computes.front(), base_.discriminator);
}

Enumeration::RoleSpace Enumeration::SpaceOf(Role role,
                                            const ProfileCosts& costs) const {
  int cores = 1;
  for (const Host& host : request_.machines.hosts()) {
    cores = std::max(cores, host.cores());
  }
  const RoleConfig& recipe = RecipeOf(request_.recipe, role);
  const RoleChoice own = {.precision = recipe.precision(),
                          .layout = recipe.layout()};
  RoleSpace space;
  std::set<int> threads;
  for (const Probe& probe : request_.profile.probes()) {
    const ProbeSettings& probed = probe.settings();
    if (probe.outcome() != Probe::MEASURED ||
        (probed.role() != role && probed.role() != COLOCATED)) {
      continue;
    }
    const int count = std::max(probed.threads(), 1);
    if (count <= cores) threads.insert(count);
    const RoleChoice compute = {.precision = probed.precision(),
                                .layout = probed.layout()};
    if (std::ranges::count(space.computes, compute) == 0) {
      space.computes.push_back(compute);
    }
  }
  if (threads.empty()) threads.insert(std::min(recipe.threads(), cores));
  space.threads.assign(threads.begin(), threads.end());
  if (space.computes.empty()) space.computes.push_back(own);
  // The recipe's own kernels come first, if they were probed.
  std::stable_partition(space.computes.begin(), space.computes.end(),
                        [&own](const RoleChoice& one) { return one == own; });
  for (const int count : space.threads) {
    space.fastest[count] =
        FastestCompute(costs, request_.recipe, role, count, space.computes);
  }
  return space;
}

void Enumeration::AddModes(SearchChoice shape,
                           std::vector<SearchChoice>& shapes) const {
  // One process uses a thread count that was measured for both roles.
  const auto generator = generator_.fastest.find(shape.generator.threads);
  if (generator != generator_.fastest.end()) {
    SetCompute(generator->second, shape.generator);
  }
  SetCompute(discriminator_.fastest.at(shape.discriminator.threads),
             shape.discriminator);
  const int most = std::ranges::max(batch_doublings_);
  for (const auto feedback :
       {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
        ScheduleConfig::FUSED}) {
    shape.feedback = feedback;
    for (const int64_t lag : lags_) {
      const bool is_fused = feedback == ScheduleConfig::FUSED;
      if (is_fused && lag != 1) continue;
      // A lag gains nothing within one process, because it never waits.
      if (shape.colocated && !is_fused && lag > lags_.front()) break;
      shape.lag = lag;
      shape.batch_doublings = 0;
      shapes.push_back(shape);
      if (most == 0) continue;
      shape.batch_doublings = most;
      shapes.push_back(shape);
    }
  }
}

// Returns pairs of thread counts that fit and cannot grow, and the pair of the
// fewest threads, with which most workers exchange messages locally.
std::vector<SearchChoice> Enumeration::WithThreads(SearchChoice shape) const {
  std::vector<SearchChoice> result;
  int most = 0;  // of the discriminator beside more threads of the generator
  for (size_t i = generator_.threads.size(); i-- > 0;) {
    shape.generator.threads = generator_.threads[i];
    for (size_t j = discriminator_.threads.size(); j-- > 0;) {
      shape.discriminator.threads = discriminator_.threads[j];
      if (shape.discriminator.threads <= most) break;
      if (PlaceWorkers(request_.machines, shape).workers_size() == 0) continue;
      most = shape.discriminator.threads;
      result.push_back(shape);
      break;
    }
  }
  shape.generator.threads = generator_.threads.front();
  shape.discriminator.threads = discriminator_.threads.front();
  if (!result.empty() && std::ranges::find(result, shape) == result.end()) {
    result.push_back(shape);
  }
  return result;
}

std::vector<SearchChoice> Enumeration::Shapes() const {
  std::vector<SearchChoice> shapes;
  SearchChoice shape = base_;
  shape.colocated = true;
  for (const int threads : discriminator_.threads) {
    shape.generator.threads = threads;
    shape.discriminator.threads = threads;
    AddModes(shape, shapes);
  }
  shape = base_;
  const int devices = NumDevices(request_.machines);
  const std::vector<int> workers = WorkerCounts(devices);
  for (const int generators : workers) {
    for (const int discriminators : workers) {
      if (generators + discriminators > devices) break;
      shape.generator.workers = generators;
      shape.discriminator.workers = discriminators;
      for (const SearchChoice& fitting : WithThreads(shape)) {
        if (IsWorthRanking(fitting, request_.machines)) {
          AddModes(fitting, shapes);
        }
      }
    }
  }
  return shapes;
}

std::vector<SearchChoice> Enumeration::WaysOf(const SearchChoice& shape) const {
  // The quality model does not know the cost of averaging states.
  const bool averages =
      request_.objective == Plan::THROUGHPUT &&
      shape.generator.workers + shape.discriminator.workers > 2;
  const bool spreads = request_.machines.hosts_size() > 1 && !shape.colocated;
  std::vector<SearchChoice> ways;
  for (const int doublings : batch_doublings_) {
    SearchChoice way = shape;
    way.batch_doublings = doublings;
    for (const int64_t every : {0, 4, 16}) {
      if (every > 0 && !averages) break;
      way.average_every = every;
      for (const WorkerSpread spread :
           {WorkerSpread::kDiscriminatorsFirst, WorkerSpread::kGeneratorsFirst,
            WorkerSpread::kMixed}) {
        if (!spreads && spread != shape.spread) continue;
        way.spread = spread;
        ways.push_back(way);
      }
    }
    way.average_every = shape.average_every;
    way.spread = shape.spread;
    AddCuts(way, ways);
  }
  return ways;
}

void Enumeration::AddCuts(SearchChoice way,
                          std::vector<SearchChoice>& ways) const {
  way.generator.micro_batch = 0;
  way.discriminator.micro_batch = 0;
  // No messages are sent within a process.
  if (way.colocated) return ways.push_back(way);
  const auto first_cuts = [&](Role role, size_t most) {
    std::vector<int64_t> cuts = Cuts(role, way);
    cuts.resize(std::min(cuts.size(), most));
    cuts.push_back(0);
    return cuts;
  };
  const std::vector<int64_t> discriminators =
      first_cuts(DISCRIMINATOR, kMostDiscriminatorCuts);
  for (const int64_t generator : first_cuts(GENERATOR, kMostGeneratorCuts)) {
    for (const int64_t discriminator : discriminators) {
      way.generator.micro_batch = generator;
      way.discriminator.micro_batch = discriminator;
      ways.push_back(way);
    }
  }
}

std::vector<int64_t> Enumeration::Cuts(Role role,
                                       const SearchChoice& way) const {
  const bool generates = role == GENERATOR;
  const RoleChoice& choice = generates ? way.generator : way.discriminator;
  const int64_t batch = ScaledBatch(
      RecipeOf(request_.recipe, role).batch_size(), way.batch_doublings);
  const int64_t rank_batch = (batch + choice.workers - 1) / choice.workers;
  int64_t pass = choice.micro_batch == 0
                     ? rank_batch
                     : std::min(choice.micro_batch, rank_batch);
  std::vector<int64_t> cuts;
  for (pass /= 2; pass > kLeastPass; pass /= 2) cuts.push_back(pass);
  if (rank_batch > kLeastPass) cuts.push_back(kLeastPass);
  return cuts;
}

std::vector<SearchChoice> Enumeration::LeanWaysOf(
    const SearchChoice& way) const {
  std::vector<int64_t> passes = Cuts(DISCRIMINATOR, way);
  passes.push_back(way.discriminator.micro_batch);
  std::vector<SearchChoice> lean;
  for (const RoleChoice& generator : generator_.computes) {
    for (const RoleChoice& discriminator : discriminator_.computes) {
      for (const int64_t pass : passes) {
        SearchChoice other = way;
        SetCompute(generator, other.generator);
        SetCompute(discriminator, other.discriminator);
        other.discriminator.micro_batch = pass;
        lean.push_back(other);
      }
    }
  }
  return lean;
}

SearchChoice Enumeration::CutMost(SearchChoice way) const {
  const std::vector<int64_t> cuts = Cuts(DISCRIMINATOR, way);
  if (!cuts.empty()) way.discriminator.micro_batch = cuts.back();
  return way;
}

}  // namespace gandem
