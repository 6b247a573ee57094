// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/run_shape.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config/fused_feedback.h"
#include "common/config/role_device.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "common/faults.h"
#include "common/status.h"
#include "exchange/config_schedule.h"

namespace gandem {
namespace {

// Share of a FUSED training pass before the answer, with a backward pass per
// loss: forward and backward to the images, 2 of 4 (docs/design.md section 4).
constexpr double kJudgedPart = 0.5;

absl::StatusOr<std::map<std::string, size_t>> ReadHosts(
    const Machines& machines, std::vector<HostShape>& hosts) {
  std::map<std::string, size_t> numbers;
  Faults faults("machines");
  if (machines.hosts_size() == 0) faults.Add("hosts: there are none");
  for (int i = 0; i < machines.hosts_size(); ++i) {
    const Host& host = machines.hosts(i);
    const bool is_new = numbers.emplace(host.name(), hosts.size()).second;
    if (host.cores() < 1) {
      faults.Add(
          absl::StrCat("hosts(", i, ").cores ", host.cores(), " is below 1"));
    }
    if (!is_new) {
      faults.Add(absl::StrCat("hosts(", i, ").name '", host.name(),
                              "' is already the name of another host"));
    }
    hosts.push_back({.name = host.name(),
                     .cores = host.cores(),
                     .speed = host.speed() == 0 ? 1 : host.speed(),
                     .has_devices = host.device() == "cuda"});
  }
  if (!faults.empty()) return faults.ToStatus();
  return numbers;
}

int WorkersOf(const RunConfig& config, Role role) {
  return role == GENERATOR ? config.generator().workers()
                           : config.discriminator().workers();
}

std::string WorkerText(const PlacedWorker& worker) {
  return absl::StrCat("placement: ", Role_Name(worker.role()), " ",
                      worker.rank());
}

absl::Status Place(const PlacedWorker& worker, Role role,
                   const RunConfig& config, RunShape& shape) {
  RoleShape& placed = role == GENERATOR ? shape.generator : shape.discriminator;
  const int workers = WorkersOf(config, role);
  if (worker.rank() < 0 || worker.rank() >= workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        WorkerText(worker), ": the config has ", workers,
        " workers of the role, so ranks are in [0, ", workers - 1, "]"));
  }
  constexpr size_t kNowhere = static_cast<size_t>(-1);
  placed.processes.resize(workers, kNowhere);
  if (placed.processes[worker.rank()] != kNowhere) {
    return absl::InvalidArgumentError(
        absl::StrCat(WorkerText(worker), ": is placed twice"));
  }
  placed.processes[worker.rank()] = shape.processes.size();
  return absl::OkStatus();
}

absl::Status CheckPlaced(const RoleShape& role, int workers) {
  constexpr size_t kNowhere = static_cast<size_t>(-1);
  const auto missing = std::ranges::find(role.processes, kNowhere);
  if (role.size() == workers && missing == role.processes.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "placement: ", Role_Name(role.role), " ",
      missing - role.processes.begin(), " is not placed; the config has ",
      workers, " workers of the role"));
}

absl::Status PlaceAll(const Placement& placement, const RunConfig& config,
                      const std::map<std::string, size_t>& hosts,
                      RunShape& shape) {
  for (const PlacedWorker& worker : placement.workers()) {
    const auto host = hosts.find(worker.host());
    if (host == hosts.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(WorkerText(worker), ": the machines have no host '",
                       worker.host(), "'"));
    }
    const bool both = worker.role() == COLOCATED;
    if (!both && worker.role() != GENERATOR && worker.role() != DISCRIMINATOR) {
      return absl::InvalidArgumentError(absl::StrCat(
          "placement: a worker on '", worker.host(), "' has no role"));
    }
    if (both || worker.role() == GENERATOR) {
      GANDEM_RETURN_IF_ERROR(Place(worker, GENERATOR, config, shape));
    }
    if (both || worker.role() == DISCRIMINATOR) {
      GANDEM_RETURN_IF_ERROR(Place(worker, DISCRIMINATOR, config, shape));
    }
    shape.colocated = shape.colocated || both;
    const int configured = worker.role() == GENERATOR
                               ? config.generator().threads()
                               : config.discriminator().threads();
    shape.processes.push_back(
        {.host = host->second,
         .threads = std::max(
             1, worker.threads() > 0 ? worker.threads() : configured)});
  }
  GANDEM_RETURN_IF_ERROR(
      CheckPlaced(shape.generator, config.generator().workers()));
  GANDEM_RETURN_IF_ERROR(
      CheckPlaced(shape.discriminator, config.discriminator().workers()));
  if (shape.colocated && shape.processes.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "placement: a COLOCATED worker is a whole run, but there are ",
        shape.processes.size(), " workers"));
  }
  return absl::OkStatus();
}

SumShape SumsOf(const RoleConfig& role) {
  const SyncConfig& sync = role.sync();
  const bool narrow = sync.wire() != SyncConfig::EXACT &&
                      role.precision() != RoleConfig::FLOAT64;
  return {.averages_state = sync.mode() == SyncConfig::AVERAGE_STATE,
          .interval = std::max<int64_t>(1, sync.interval()),
          .bucket_bytes = std::max<int64_t>(1, sync.bucket_bytes()),
          .wire_factor = narrow ? 0.5 : 1};
}

// Sets the costs of the rank with the largest slice, the slowest rank.
absl::Status FillRole(const ProfileCosts& costs, const RunConfig& config,
                      RunShape& shape, Role role) {
  const Profile& profile = costs.profile();
  const bool is_generator = role == GENERATOR;
  RoleShape& filled = is_generator ? shape.generator : shape.discriminator;
  const RoleConfig& role_config =
      is_generator ? config.generator() : config.discriminator();
  const ProcessShape& first = shape.processes[filled.processes.front()];
  const bool has_device = shape.hosts[first.host].has_devices;
  for (const size_t process : filled.processes) {
    const ProcessShape& other = shape.processes[process];
    if (!has_device && other.threads != first.threads) {
      return absl::InvalidArgumentError(
          absl::StrCat("placement: workers of the ", RoleName(role), " with ",
                       first.threads, " and with ", other.threads,
                       " threads: all workers of a role need as many threads"));
    }
  }
  GANDEM_ASSIGN_OR_RETURN(
      filled.settings,
      Resolve(profile, {.role = role,
                        .precision = role_config.precision(),
                        .layout = role_config.layout(),
                        .threads = has_device ? 0 : first.threads,
                        .feedback = config.schedule().feedback(),
                        .image_source = config.schedule().image_source()}));
  GANDEM_ASSIGN_OR_RETURN(filled.times, costs.Of(filled.settings));
  filled.state =
      is_generator ? profile.generator_state() : profile.discriminator_state();
  filled.sums = SumsOf(role_config);
  filled.on_gpu = IsOnGpu(role_config);
  return absl::OkStatus();
}

// Scales both roles' operations to measured colocated rounds, if there are any:
// two networks in turn use caches differently than one.
void FitColocated(const ProfileCosts& costs, RunShape& shape) {
  RoleSettings settings = shape.discriminator.settings;
  settings.role = COLOCATED;
  // Colocated probes have one precision and layout; the plan may have two.
  RoleSettings alike = shape.discriminator.settings;
  alike.role = GENERATOR;
  const absl::StatusOr<RoleCosts>& generator = costs.Of(alike);
  if (!generator.ok()) return;
  double sum = 0;
  int probes = 0;
  for (const Probe* const probe : ProbesOf(costs.profile(), settings)) {
    const ProbeSettings& probed = probe->settings();
    if (!probe->has_round() || probed.feedback() != settings.feedback ||
        probed.image_source() != settings.image_source) {
      continue;
    }
    const double roles =
        ProbedRoundSeconds(GENERATOR, probed, *generator) +
        ProbedRoundSeconds(DISCRIMINATOR, probed, shape.discriminator.times);
    if (roles <= 0) continue;
    sum += probe->round().median_seconds() / roles;
    ++probes;
  }
  if (probes == 0) return;
  shape.generator.times.Scale(sum / probes);
  shape.discriminator.times.Scale(sum / probes);
}

absl::Status CheckStateSizes(const RunShape& shape) {
  const bool sends_critics =
      !shape.schedule.AnswersImages() && !shape.colocated;
  for (const RoleShape* const role : {&shape.generator, &shape.discriminator}) {
    const bool is_needed =
        role->size() > 1 || (role->role == DISCRIMINATOR && sends_critics);
    if (!is_needed || role->state.parameter_bytes() > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "profile: ", RoleName(role->role),
        "_state.parameter_bytes is missing, which is the size of sums and "
        "critics; profile again with this release"));
  }
  return absl::OkStatus();
}

LinksUsed UsedBy(const RunShape& shape) {
  LinksUsed used;
  for (int g = 0; g < shape.generator.size(); ++g) {
    for (int d = 0; d < shape.discriminator.size(); ++d) {
      if (shape.generator.processes[g] == shape.discriminator.processes[d]) {
        continue;
      }
      const bool same = shape.HostOf(shape.generator, g) ==
                        shape.HostOf(shape.discriminator, d);
      (same ? used.socket : used.network) = true;
    }
  }
  for (const RoleShape* const role : {&shape.generator, &shape.discriminator}) {
    const std::vector<int> ranks = shape.RanksByHost(*role);
    used.sum_network = used.sum_network || ranks.size() > 1;
    used.sum_memory = used.sum_memory || std::ranges::max(ranks) > 1;
  }
  return used;
}

int64_t BytesOf(const DataShape& data, ExchangeConfig::Encoding encoding) {
  return data.image.channels * data.image.height * data.image.width *
         BytesPerElement(EncodingOf(encoding));
}

void FillExchange(const RunConfig& config, RunShape& shape) {
  const ExchangeConfig& exchange = config.exchange();
  DataShape data = DataShapeOf(config.data());
  // 0 means the channels of the dataset; assume color.
  if (data.image.channels == 0) data.image.channels = 3;
  shape.image_bytes = BytesOf(data, exchange.image_encoding());
  shape.feedback_bytes = BytesOf(data, exchange.feedback_encoding());
  const int64_t rounds = exchange.cache_rounds() > 0 ? exchange.cache_rounds()
                                                     : shape.schedule.lag + 1;
  shape.cache_images = std::min(
      rounds * shape.schedule.TrainImagesPerRound(),
      exchange.cache_bytes() / std::max<int64_t>(1, shape.image_bytes));
  shape.max_samples_per_image = config.schedule().max_samples_per_image();
  if (shape.schedule.JudgesInTraining() &&
      FusedBackwardOf(config) == ScheduleConfig::TWO_PASSES) {
    shape.answer_part = kJudgedPart;
  }
}

}  // namespace

int64_t RunShape::RoundImages(Role role) const {
  return role == GENERATOR
             ? RankImages(schedule.generator_batch, schedule.generator_batches,
                          0, generator.size())
             : RankImages(schedule.discriminator_batch,
                          schedule.discriminator_batches, 0,
                          discriminator.size()) *
                   schedule.discriminator_steps_per_round;
}

int RunShape::ThreadsOn(size_t host) const {
  int threads = 0;
  for (const ProcessShape& process : processes) {
    if (process.host == host) threads += process.threads;
  }
  return threads;
}

std::vector<int> RunShape::RanksByHost(const RoleShape& role) const {
  std::map<size_t, int> ranks;
  for (int rank = 0; rank < role.size(); ++rank) ++ranks[HostOf(role, rank)];
  std::vector<int> counts;
  for (const auto& [host, count] : ranks) counts.push_back(count);
  return counts;
}

double RunShape::Crowding(const RoleShape& role) const {
  std::map<size_t, int> ranks;
  double crowding = 1;
  for (int rank = 0; rank < role.size(); ++rank) {
    const size_t host = HostOf(role, rank);
    ++ranks[host];
    if (hosts[host].has_devices) continue;
    crowding = std::max(crowding,
                        static_cast<double>(ranks[host]) / hosts[host].cores);
  }
  return crowding;
}

absl::Status CheckPlacement(const Placement& placement,
                            const Machines& machines, const RunConfig& config) {
  std::map<std::string, size_t> hosts;
  for (const Host& host : machines.hosts()) {
    hosts.emplace(host.name(), hosts.size());
  }
  RunShape shape;
  shape.discriminator.role = DISCRIMINATOR;
  return PlaceAll(placement, config, hosts, shape);
}

absl::StatusOr<RunShape> MakeRunShape(const ProfileCosts& costs,
                                      const Machines& machines,
                                      const RunConfig& config,
                                      const Placement& placement) {
  GANDEM_RETURN_IF_ERROR(ValidateRunConfig(config));
  const Profile& profile = costs.profile();
  const RunConfig effective = EffectiveConfig(config);
  RunShape shape;
  shape.generator.role = GENERATOR;
  shape.discriminator.role = DISCRIMINATOR;
  shape.schedule = ScheduleOf(effective);
  shape.rounds_to_agreement = RoundsToAgreement(effective);
  shape.images_per_decode_thread = profile.images_per_decode_thread_second();
  shape.prefetch_batches =
      std::max<int64_t>(1, effective.data().prefetch_batches());
  GANDEM_ASSIGN_OR_RETURN(const auto hosts, ReadHosts(machines, shape.hosts));
  GANDEM_RETURN_IF_ERROR(PlaceAll(placement, effective, hosts, shape));
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    GANDEM_RETURN_IF_ERROR(FillRole(costs, effective, shape, role));
  }
  if (shape.colocated) FitColocated(costs, shape);
  FillExchange(effective, shape);
  GANDEM_RETURN_IF_ERROR(CheckStateSizes(shape));
  GANDEM_ASSIGN_OR_RETURN(shape.links,
                          LinkTimesOf(profile, machines, UsedBy(shape)));
  return shape;
}

}  // namespace gandem
