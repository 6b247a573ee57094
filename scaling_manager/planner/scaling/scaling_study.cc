// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/scaling/scaling_study.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/round_summary.h"
#include "scaling_manager/planner/simulation/simulated_run.h"

namespace gandem {
namespace {

constexpr int kMostDevices = 16384;
// Drawn rounds of all workers together: enough for a mean within 1 %.
constexpr int64_t kDrawnRounds = 16384;
// Half of a 95 % interval of a median, in standard deviations over the root of
// the number of values, if these are normal: 1.96 sqrt(pi / 2).
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

void AddFailures(const FailureModel& of_device, double round_seconds,
                 ScalingRow& row) {
  if (of_device.mean_between <= 0) return;
  FailureModel all = of_device;
  all.mean_between /= row.devices;
  const double best = BestInterval(all);
  // Checkpoints are at the ends of rounds.
  row.checkpoint_rounds =
      std::max<int64_t>(1, std::llround(best / std::max(round_seconds, 1e-9)));
  row.checkpoint_seconds =
      static_cast<double>(row.checkpoint_rounds) * round_seconds;
  row.useful = UsefulShare(all, row.checkpoint_seconds);
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
  ScalingRow row = {.devices = devices,
                    .generators = scaled.generators,
                    .discriminators = scaled.discriminators,
                    .batch = shape.schedule.TrainImagesPerRound(),
                    .images_per_second = prediction.images_per_second(),
                    .generator_wait = prediction.generator_wait(),
                    .discriminator_wait = prediction.discriminator_wait(),
                    .bottleneck = prediction.bottleneck()};
  AddFailures(options.failures, rounds.round_seconds, row);
  return row;
}

// Updates from one average to the next in the last variant.
constexpr int64_t kAverageInterval = 8;

template <typename Change>
void ChangeSums(RunConfig& config, Change change) {
  change(*config.mutable_generator()->mutable_sync());
  change(*config.mutable_discriminator()->mutable_sync());
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
  // Some probes are disturbed by what else the machine did: no mean.
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
  // All rows lack the same then.
  if (base == 0 && !first_fault.ok()) return first_fault;
  return rows;
}

std::vector<Variant> OverlapVariants(const Candidate& candidate) {
  std::vector<Variant> variants;
  const auto add = [&variants](const std::string& name,
                               const Candidate& changed) {
    if (ValidateRunConfig(changed.config()).ok()) {
      variants.push_back({.name = name, .candidate = changed});
    }
  };
  const RunConfig& before = candidate.config();
  const bool accumulates =
      before.generator().sync().mode() == SyncConfig::ACCUMULATE &&
      before.discriminator().sync().mode() == SyncConfig::ACCUMULATE;
  Candidate changed = candidate;
  RunConfig& config = *changed.mutable_config();
  std::string name;
  if (accumulates) {
    ChangeSums(config,
               [](SyncConfig& sync) { sync.set_wire(SyncConfig::BFLOAT16); });
    name = "sync.wire BFLOAT16";
    add(name, changed);
  }
  if (before.schedule().feedback() != ScheduleConfig::FUSED &&
      before.schedule().lag() < 2) {
    config.mutable_schedule()->set_lag(2);
    config.mutable_exchange()->clear_cache_rounds();
    absl::StrAppend(&name, name.empty() ? "" : ", ", "lag 2");
    add(name, changed);
  }
  if (accumulates) {
    Candidate averages = candidate;
    ChangeSums(*averages.mutable_config(), [](SyncConfig& sync) {
      sync.set_mode(SyncConfig::AVERAGE_STATE);
      sync.set_interval(kAverageInterval);
    });
    add(absl::StrCat("sync.mode AVERAGE_STATE, interval ", kAverageInterval),
        averages);
  }
  return variants;
}

}  // namespace gandem
