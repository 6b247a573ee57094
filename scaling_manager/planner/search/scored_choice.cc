// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/scored_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/status.h"

namespace gandem {
namespace {

int64_t BytesOfWorker(Role role, const Prediction& prediction) {
  if (role == GENERATOR) return prediction.generator_bytes();
  if (role == DISCRIMINATOR) return prediction.discriminator_bytes();
  return std::max(prediction.generator_bytes(),
                  prediction.discriminator_bytes());
}

// Reserve for the error of memory predictions. Without it, a plan with a
// prediction that fills the memory exactly would fail every other time.
constexpr double kMemoryReserve = 1.08;

MemoryNeed NeedOfHost(const Host& host, int64_t bytes) {
  const bool has_gpus = host.device() == "cuda";
  return {
      .where = has_gpus ? absl::StrCat("a GPU of ", host.name()) : host.name(),
      .bytes = std::llround(kMemoryReserve * static_cast<double>(bytes)),
      .limit = has_gpus ? host.device_memory_bytes() : host.memory_bytes(),
      .field = has_gpus ? "device_memory_bytes" : "memory_bytes"};
}

MemoryNeed MemoryNeedOf(const Machines& machines, const Placement& placement,
                        const Prediction& prediction) {
  struct OfHost {
    int64_t sum = 0;
    int64_t largest = 0;
  };
  std::map<std::string, OfHost> hosts;
  for (const PlacedWorker& worker : placement.workers()) {
    const int64_t bytes = BytesOfWorker(worker.role(), prediction);
    OfHost& host = hosts[worker.host()];
    host.sum += bytes;
    host.largest = std::max(host.largest, bytes);
  }
  MemoryNeed most;
  for (const Host& host : machines.hosts()) {
    const auto at = hosts.find(host.name());
    if (at == hosts.end()) continue;
    // Workers of a host share its memory, but each has its own GPU.
    MemoryNeed need = NeedOfHost(
        host, host.device() == "cuda" ? at->second.largest : at->second.sum);
    if (std::pair(need.Share(), need.bytes) >
        std::pair(most.Share(), most.bytes)) {
      most = std::move(need);
    }
  }
  return most;
}

// Returns the hosts with more memory than `limit`, or with unlimited memory.
Machines RoomierThan(int64_t limit, const Machines& machines) {
  Machines roomier = machines;
  roomier.clear_hosts();
  for (const Host& host : machines.hosts()) {
    const int64_t of_host = NeedOfHost(host, 0).limit;
    if (of_host == 0 || of_host > limit) *roomier.add_hosts() = host;
  }
  return roomier;
}

}  // namespace

double CostOf(Plan::Objective objective, const ScoredChoice& scored) {
  const Prediction& prediction = scored.candidate.prediction();
  const double seconds = 1 / prediction.images_per_second();
  switch (objective) {
    case Plan::THROUGHPUT:
      return seconds;
    case Plan::MEMORY:
      return static_cast<double>(scored.memory.bytes);
    default:
      return seconds * (scored.choice.batch_doublings == 0
                            ? scored.images.factor
                            : scored.images.high);
  }
}

absl::StatusOr<ScoredChoice> ScoreConfig(const SearchChoice& choice,
                                         RunConfig config, Placement placement,
                                         const ProfileCosts& costs,
                                         const PlanRequest& request,
                                         const PlanModels& models) {
  GANDEM_ASSIGN_OR_RETURN(
      Prediction prediction,
      models.predict(costs, request.machines, config, placement));
  // A choice without a predicted speed is no candidate.
  if (!(prediction.images_per_second() > 0) ||
      !std::isfinite(prediction.images_per_second())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the profile's times make ",
                     prediction.images_per_second(), " images/s of it"));
  }
  ScoredChoice scored = {.choice = choice,
                         .images = models.images_needed(config)};
  scored.memory = MemoryNeedOf(request.machines, placement, prediction);
  prediction.set_images_needed(scored.images.factor);
  prediction.set_images_needed_low(scored.images.low);
  prediction.set_images_needed_high(scored.images.high);
  *scored.candidate.mutable_prediction() = std::move(prediction);
  *scored.candidate.mutable_config() = std::move(config);
  *scored.candidate.mutable_placement() = std::move(placement);
  scored.cost = CostOf(request.objective, scored);
  return scored;
}

absl::StatusOr<ScoredChoice> ScoreChoice(const SearchChoice& choice,
                                         const ProfileCosts& costs,
                                         const PlanRequest& request,
                                         const PlanModels& models) {
  Machines machines = request.machines;
  Placement placement = PlaceWorkers(machines, choice);
  if (placement.workers_size() == 0) {
    return absl::NotFoundError("its workers fit no machine");
  }
  RunConfig config = ConfigOf(request.recipe, choice);
  std::vector<std::string> reasons = models.choose_optimizers(config);
  const absl::Status valid = ValidateRunConfig(config);
  if (!valid.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no plan can be run: ", valid.message()));
  }
  absl::StatusOr<ScoredChoice> scored =
      ScoreConfig(choice, config, std::move(placement), costs, request, models);
  if (!scored.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no plan can be predicted: ", scored.status().message()));
  }
  // If the memory is too small, try again without the smallest hosts.
  while (!scored->Fits()) {
    machines = RoomierThan(scored->memory.limit, machines);
    Placement elsewhere = PlaceWorkers(machines, choice);
    if (elsewhere.workers_size() == 0) break;
    absl::StatusOr<ScoredChoice> other = ScoreConfig(
        choice, config, std::move(elsewhere), costs, request, models);
    if (!other.ok() || other->Rank() >= scored->Rank()) break;
    scored = std::move(other);
  }
  scored->optimizer_reasons = std::move(reasons);
  return scored;
}

bool IsSimpler(const SearchChoice& a, const SearchChoice& b) {
  const auto key = [](const SearchChoice& choice) {
    const bool cuts_generator = choice.generator.micro_batch > 0;
    const bool cuts_discriminator = choice.discriminator.micro_batch > 0;
    return std::tuple(!choice.colocated,
                      choice.generator.workers + choice.discriminator.workers,
                      choice.lag, std::abs(choice.batch_doublings),
                      choice.average_every, cuts_generator + cuts_discriminator,
                      -choice.generator.micro_batch,
                      -choice.discriminator.micro_batch);
  };
  return std::pair(key(a), a) < std::pair(key(b), b);
}

}  // namespace gandem
