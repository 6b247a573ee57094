// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/scaling/scaling_study.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_run.h"

namespace gandem {
namespace {

struct FleetSizes {
  int generators = 0;
  int discriminators = 0;
  int devices = 0;
};

absl::StatusOr<FleetSizes> SizesOf(const Candidate& candidate,
                                   const Machines& machines) {
  FleetSizes sizes;
  for (const PlacedWorker& worker : candidate.placement().workers()) {
    ++sizes.devices;
    if (worker.role() != DISCRIMINATOR) ++sizes.generators;
    if (worker.role() != GENERATOR) ++sizes.discriminators;
  }
  if (machines.hosts_size() == 0) {
    return absl::InvalidArgumentError("plan: machines has no hosts");
  }
  if (sizes.generators == 0 || sizes.discriminators == 0) {
    return absl::InvalidArgumentError(
        "plan: the placement of candidates(0) lacks workers of a role");
  }
  return sizes;
}

int WorkersOfHost(const Candidate& candidate, const Machines& machines) {
  const Host& host = machines.hosts(0);
  if (host.device() == "cuda" && host.devices() > 0) return host.devices();
  int workers = 0;
  for (const PlacedWorker& worker : candidate.placement().workers()) {
    workers += worker.host() == host.name() ? 1 : 0;
  }
  return std::max(1, workers);
}

int ThreadsOf(const Candidate& candidate, Role role) {
  for (const PlacedWorker& worker : candidate.placement().workers()) {
    if (worker.role() == role || worker.role() == COLOCATED) {
      return worker.threads();
    }
  }
  return 0;
}

int64_t Rounded(int64_t batch, int devices, int of, int workers) {
  const double scaled =
      static_cast<double>(batch) * devices / static_cast<double>(of);
  return std::max<int64_t>(workers, std::llround(scaled));
}

// Scales the batches. If images are reused, keeps B_G = R B_D in updates.
void ScaleBatches(const FleetSizes& base, int devices, ScaledPlan& plan) {
  RunConfig& config = plan.config;
  const int64_t discriminator =
      Rounded(config.discriminator().batch_size(), devices, base.devices,
              plan.discriminators);
  int64_t generator = Rounded(config.generator().batch_size(), devices,
                              base.devices, plan.generators);
  if (config.schedule().image_source() == ScheduleConfig::REUSED) {
    const int64_t before = StepBatch(config.generator());
    const int64_t per_batch = std::max<int64_t>(
        1, before / std::max<int64_t>(1, config.generator().batch_size()));
    config.mutable_discriminator()->set_batch_size(discriminator);
    generator = config.schedule().discriminator_steps_per_round() *
                StepBatch(config.discriminator()) / per_batch;
  }
  config.mutable_discriminator()->set_batch_size(discriminator);
  config.mutable_generator()->set_batch_size(generator);
}

// Limits the threads of workers `first` to `last` - 1 to the cores of their
// host, because the candidate's host may have had fewer workers.
void FitThreads(const Host& host, int first, int last, Placement& placement) {
  int threads = 0;
  for (int i = first; i < last; ++i) threads += placement.workers(i).threads();
  if (host.cores() == 0 || threads <= host.cores()) return;
  const int share = std::max(1, host.cores() / (last - first));
  for (int i = first; i < last; ++i) {
    PlacedWorker& worker = *placement.mutable_workers(i);
    worker.set_threads(std::min(worker.threads(), share));
  }
}

void PlaceScaled(const Candidate& candidate, const Machines& machines,
                 int devices, ScaledPlan& plan) {
  const int of_host = WorkersOfHost(candidate, machines);
  *plan.machines.mutable_link() = machines.link();
  for (int i = 0; i * of_host < devices; ++i) {
    Host& host = *plan.machines.add_hosts();
    host = machines.hosts(i % machines.hosts_size());
    host.set_name(absl::StrCat("host", i + 1));
  }
  int ranks[2] = {0, 0};
  for (int i = 0; i < devices; ++i) {
    // Spread the roles evenly, so that all hosts have the same proportion.
    const int64_t generators = plan.generators;
    const bool is_generator =
        (i + 1) * generators / devices > i * generators / devices;
    const Role role = devices == 1   ? COLOCATED
                      : is_generator ? GENERATOR
                                     : DISCRIMINATOR;
    PlacedWorker& worker = *plan.placement.add_workers();
    worker.set_role(role);
    worker.set_rank(ranks[role == GENERATOR]++);
    worker.set_host(plan.machines.hosts(i / of_host).name());
    worker.set_threads(
        ThreadsOf(candidate, role == GENERATOR ? GENERATOR : DISCRIMINATOR));
  }
  for (int i = 0; i * of_host < devices; ++i) {
    FitThreads(plan.machines.hosts(i), i * of_host,
               std::min((i + 1) * of_host, devices), plan.placement);
  }
}

}  // namespace

absl::StatusOr<ScaledPlan> ScalePlan(const Candidate& candidate,
                                     const Machines& machines, int devices,
                                     Scaling scaling) {
  const absl::StatusOr<FleetSizes> base = SizesOf(candidate, machines);
  if (!base.ok()) return base.status();
  ScaledPlan plan = {.config = candidate.config()};
  if (devices > 1) {
    const int both = base->generators + base->discriminators;
    const auto generators = static_cast<int>(
        std::lround(static_cast<double>(devices) * base->generators / both));
    plan.generators = std::clamp(generators, 1, devices - 1);
    plan.discriminators = devices - plan.generators;
  }
  plan.config.mutable_generator()->set_workers(plan.generators);
  plan.config.mutable_discriminator()->set_workers(plan.discriminators);
  if (scaling == Scaling::kWeak) ScaleBatches(*base, devices, plan);
  for (const bool is_generator : {true, false}) {
    const RoleConfig& role =
        is_generator ? plan.config.generator() : plan.config.discriminator();
    if (role.batch_size() >= role.workers()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        is_generator ? "generator" : "discriminator", ".batch_size ",
        role.batch_size(), " is less than its ", role.workers(), " workers"));
  }
  PlaceScaled(candidate, machines, devices, plan);
  return plan;
}

namespace {

constexpr int kMostDevices = 16384;
// Number of simulated rounds of all workers: enough for a mean within 1 %.
constexpr int64_t kDrawnRounds = 16384;
// Half the width of a 95 % interval of a median of normal values, in standard
// deviations over the root of their number: 1.96 sqrt(pi / 2).
constexpr double kMedianInterval = 2.4565;

absl::StatusOr<int> ParseDeviceCount(absl::string_view text,
                                     absl::string_view all) {
  int count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1 && count <= kMostDevices) {
    return count;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--devices '", all, "': '", text, "' is not a number from 1 to ",
      kMostDevices, "; as in 1..1024 or 8,64,512"));
}

absl::StatusOr<ScalingRow> RowOf(const Profile& profile,
                                 const ScaledPlan& scaled, int devices,
                                 const StudyOptions& options, double jitter) {
  GANDEM_ASSIGN_OR_RETURN(
      const RunShape shape,
      MakeRunShape(profile, scaled.machines, scaled.config, scaled.placement));
  GANDEM_ASSIGN_OR_RETURN(
      const SimulatedRounds rounds,
      SimulateRun(shape, {.jitter = jitter,
                          .seed = options.seed,
                          .rounds = std::clamp<int64_t>(kDrawnRounds / devices,
                                                        32, 512)}));
  const Prediction prediction = SummaryOf(shape, rounds);
  return ScalingRow{.devices = devices,
                    .generators = scaled.generators,
                    .discriminators = scaled.discriminators,
                    .batch = shape.schedule.TrainImagesPerRound(),
                    .images_per_second = prediction.images_per_second(),
                    .generator_wait = prediction.generator_wait(),
                    .discriminator_wait = prediction.discriminator_wait(),
                    .bottleneck = prediction.bottleneck()};
}

}  // namespace

absl::StatusOr<std::vector<int>> ParseDevices(absl::string_view text) {
  std::set<int> devices;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, "..");
    if (ends.size() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("--devices '", text, "': '", part,
                       "' is not a range; as in 1..1024 or 8,64,512"));
    }
    GANDEM_ASSIGN_OR_RETURN(const int first,
                            ParseDeviceCount(ends.front(), text));
    GANDEM_ASSIGN_OR_RETURN(const int last,
                            ParseDeviceCount(ends.back(), text));
    if (first > last) {
      return absl::InvalidArgumentError(
          absl::StrCat("--devices '", text, "': ", first, " is above ", last));
    }
    for (int count = first; count < last; count *= 2) devices.insert(count);
    devices.insert(last);
  }
  return std::vector<int>(devices.begin(), devices.end());
}

double MeasuredJitter(const Profile& profile) {
  std::vector<double> jitters;
  for (const Probe& probe : profile.probes()) {
    const OperationTime& round = probe.round();
    if (probe.outcome() != Probe::MEASURED || round.repetitions() < 3 ||
        !(round.median_seconds() > 0) ||
        !(round.high_seconds() > round.low_seconds())) {
      continue;
    }
    const double half = (round.high_seconds() - round.low_seconds()) / 2;
    jitters.push_back(half / round.median_seconds() *
                      std::sqrt(round.repetitions()) / kMedianInterval);
  }
  if (jitters.empty()) return 0;
  // The median is robust against probes that other programs disturbed.
  const auto middle =
      jitters.begin() + static_cast<int64_t>(jitters.size() / 2);
  std::ranges::nth_element(jitters, middle);
  return *middle;
}

absl::StatusOr<std::vector<ScalingRow>> StudyScaling(
    const Profile& profile, const Plan& plan, Scaling scaling,
    const StudyOptions& options) {
  if (plan.candidates_size() == 0) {
    return absl::InvalidArgumentError(
        "plan: candidates is empty; `gandem plan` writes some");
  }
  const double jitter =
      options.jitter < 0 ? MeasuredJitter(profile) : options.jitter;
  std::vector<ScalingRow> rows;
  absl::Status first_fault;
  double base = 0;  // images per second and device
  for (const int devices : options.devices) {
    absl::StatusOr<ScaledPlan> scaled =
        ScalePlan(plan.candidates(0), plan.machines(), devices, scaling);
    absl::StatusOr<ScalingRow> row =
        scaled.ok() ? RowOf(profile, *scaled, devices, options, jitter)
                    : absl::StatusOr<ScalingRow>(scaled.status());
    if (!row.ok()) {
      if (first_fault.ok()) first_fault = row.status();
      rows.push_back(
          {.devices = devices, .why_not = std::string(row.status().message())});
      continue;
    }
    const double of_device = row->images_per_second / devices;
    if (base == 0) base = of_device;
    row->efficiency = base > 0 ? of_device / base : 0;
    rows.push_back(*std::move(row));
  }
  // If no row succeeded, return the first error.
  if (base == 0 && !first_fault.ok()) return first_fault;
  return rows;
}

}  // namespace gandem
