// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search_space.h"

#include <algorithm>
#include <set>

#include "common/config/field_ranges.h"

namespace gandem {
namespace {

// Up to here every number of workers is tried, above it powers of two and the
// numbers between, and what they leave of all devices.
constexpr int kEveryCount = 16;
constexpr int kMostDoublings = 6;

std::vector<int> WorkerCounts(int devices) {
  std::set<int> counts;
  for (int i = 1; i <= std::min(devices, kEveryCount); ++i) counts.insert(i);
  for (int i = kEveryCount; i < devices; i *= 2) {
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

bool IsMeasured(const Probe& probe, Role role) {
  return probe.outcome() == Probe::MEASURED &&
         (probe.settings().role() == role ||
          probe.settings().role() == COLOCATED);
}

std::vector<int> ProbedThreads(const Profile& profile, Role role,
                               int recipe_threads, int most) {
  std::set<int> threads;
  for (const Probe& probe : profile.probes()) {
    const int count = std::max(probe.settings().threads(), 1);
    if (IsMeasured(probe, role) && count <= most) threads.insert(count);
  }
  if (threads.empty()) threads.insert(std::min(recipe_threads, most));
  return {threads.begin(), threads.end()};
}

// The recipe's first, where it was probed.
std::vector<RoleChoice> ProbedComputes(const Profile& profile, Role role,
                                       const RoleConfig& recipe) {
  std::vector<RoleChoice> computes;
  for (const Probe& probe : profile.probes()) {
    if (!IsMeasured(probe, role)) continue;
    const RoleChoice compute = {.precision = probe.settings().precision(),
                                .layout = probe.settings().layout()};
    if (std::ranges::count(computes, compute) == 0) computes.push_back(compute);
  }
  if (computes.empty()) {
    computes.push_back(
        {.precision = recipe.precision(), .layout = recipe.layout()});
  }
  std::stable_partition(computes.begin(), computes.end(),
                        [&recipe](const RoleChoice& compute) {
                          return compute.precision == recipe.precision() &&
                                 compute.layout == recipe.layout();
                        });
  return computes;
}

int64_t LargerBatch(const RunConfig& recipe) {
  return std::max(recipe.generator().batch_size(),
                  recipe.discriminator().batch_size());
}

std::vector<int> BatchDoublings(const RunConfig& recipe,
                                Plan::Objective objective, int64_t max_batch) {
  std::vector<int> doublings = {0};
  if (objective == Plan::MEMORY) return doublings;
  const auto most = static_cast<int64_t>(
      max_batch > 0 ? static_cast<double>(max_batch)
                    : RangeOf<RoleConfig>("batch_size").high);
  const int64_t batch = LargerBatch(recipe);
  for (int i = 1; i <= kMostDoublings && batch << i <= most; ++i) {
    doublings.push_back(i);
  }
  const bool may_halve = recipe.generator().batch_size() % 2 == 0 &&
                         recipe.discriminator().batch_size() % 2 == 0;
  if (objective == Plan::TIME_TO_QUALITY && may_halve) doublings.push_back(-1);
  return doublings;
}

}  // namespace

SearchSpace SpaceOf(const RunConfig& recipe, const Profile& profile,
                    const Machines& machines, Plan::Objective objective,
                    const SearchLimits& limits) {
  int cores = 1;
  for (const Host& host : machines.hosts()) {
    cores = std::max(cores, host.cores());
  }
  SearchSpace space = {
      .workers = WorkerCounts(NumDevices(machines)),
      .generator_threads = ProbedThreads(profile, GENERATOR,
                                         recipe.generator().threads(), cores),
      .discriminator_threads = ProbedThreads(
          profile, DISCRIMINATOR, recipe.discriminator().threads(), cores),
      .generator_computes =
          ProbedComputes(profile, GENERATOR, recipe.generator()),
      .discriminator_computes =
          ProbedComputes(profile, DISCRIMINATOR, recipe.discriminator()),
      .batch_doublings = BatchDoublings(recipe, objective, limits.max_batch),
      .averages = {0},
      .spreads = {WorkerSpread::kDiscriminatorsFirst}};
  for (int64_t lag = limits.least_lag; lag <= limits.most_lag; ++lag) {
    space.lags.push_back(lag);
  }
  // What averages of the state cost is not in the quality model.
  if (objective == Plan::THROUGHPUT) space.averages = {0, 4, 16};
  if (machines.hosts_size() > 1) {
    space.spreads = {WorkerSpread::kDiscriminatorsFirst,
                     WorkerSpread::kGeneratorsFirst, WorkerSpread::kMixed};
  }
  return space;
}

SearchChoice ChoiceOf(const RunConfig& recipe, const SearchSpace& space) {
  SearchChoice choice = {.feedback = recipe.schedule().feedback(),
                         .lag = recipe.schedule().lag()};
  choice.generator = space.generator_computes.front();
  choice.discriminator = space.discriminator_computes.front();
  choice.generator.micro_batch = recipe.generator().micro_batch();
  choice.discriminator.micro_batch = recipe.discriminator().micro_batch();
  choice.generator.threads = recipe.generator().threads();
  choice.discriminator.threads = recipe.discriminator().threads();
  return choice;
}

}  // namespace gandem
