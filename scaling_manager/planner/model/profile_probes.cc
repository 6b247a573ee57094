// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/profile_probes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/faults.h"

namespace gandem {
namespace {

// A day: what takes longer is no operation.
constexpr double kLongestSeconds = 86400;
constexpr int kMostThreads = 4096;
constexpr int kMostFaulty = 10;
constexpr int64_t kMostBytes = int64_t{1} << 60;

void CheckTime(const OperationTime& time, const std::string& path,
               Faults& faults) {
  faults.CheckRange(path + ".median_seconds", time.median_seconds(), 0,
                    kLongestSeconds);
  faults.CheckRange(path + ".low_seconds", time.low_seconds(), 0,
                    kLongestSeconds);
  faults.CheckRange(path + ".high_seconds", time.high_seconds(), 0,
                    kLongestSeconds);
  faults.CheckRange(path + ".repetitions", time.repetitions(), 0,
                    int64_t{1} << 40);
  if (time.low_seconds() > time.high_seconds()) {
    faults.Add(absl::StrCat(path, ".low_seconds ", time.low_seconds(),
                            " is above high_seconds ", time.high_seconds()));
  }
}

void CheckProbe(const Probe& probe, const std::string& path, Faults& faults) {
  const ProbeSettings& settings = probe.settings();
  faults.CheckRange(path + ".settings.batch_size", settings.batch_size(), 1,
                    int64_t{1} << 40);
  faults.CheckRange(path + ".settings.threads", settings.threads(), 0,
                    kMostThreads);
  if (probe.outcome() != Probe::MEASURED) return;
  faults.CheckRange(path + ".settings.micro_batch", settings.micro_batch(), 0,
                    int64_t{1} << 40);
  faults.CheckRange(path + ".peak_bytes", probe.peak_bytes(), 0, kMostBytes);
  faults.CheckRange(path + ".resting_bytes", probe.resting_bytes(), 0,
                    kMostBytes);
  const DeviceMemory& device = probe.device_memory();
  for (const auto& [field, bytes] :
       {std::pair(".peak_bytes", device.peak_bytes()),
        std::pair(".resting_bytes", device.resting_bytes()),
        std::pair(".total_bytes", device.total_bytes())}) {
    faults.CheckRange(absl::StrCat(path, ".device_memory", field), bytes, 0,
                      kMostBytes);
  }
  for (int i = 0; i < probe.operations_size(); ++i) {
    CheckTime(probe.operations(i), absl::StrCat(path, ".operations(", i, ")"),
              faults);
  }
  CheckTime(probe.round(), path + ".round", faults);
  // A negative one was named above.
  if (probe.has_round() && probe.round().median_seconds() == 0) {
    faults.Add(path + ".round.median_seconds 0: no round takes no time");
  }
}

// Of ten probes: what is wrong with all of them is wrong with each.
void CheckProbes(const Profile& profile, Faults& faults) {
  int faulty = 0;
  for (int i = 0; i < profile.probes_size(); ++i) {
    const std::string path = absl::StrCat("probes(", i, ")");
    Faults of_probe(path);
    CheckProbe(profile.probes(i), path, of_probe);
    if (of_probe.empty()) continue;
    if (++faulty <= kMostFaulty) CheckProbe(profile.probes(i), path, faults);
  }
  if (faulty > kMostFaulty) {
    faults.Add(absl::StrCat("and ", faulty - kMostFaulty, " more probes"));
  }
}

void CheckState(const StateSize& state, const std::string& path,
                Faults& faults) {
  faults.CheckRange(path + ".parameter_bytes", state.parameter_bytes(), 0,
                    kMostBytes);
  faults.CheckRange(path + ".buffer_bytes", state.buffer_bytes(), 0,
                    kMostBytes);
  faults.CheckRange(path + ".optimizer_bytes", state.optimizer_bytes(), 0,
                    kMostBytes);
}

bool IsOf(const Probe& probe, const RoleSettings& wanted) {
  const ProbeSettings& settings = probe.settings();
  return probe.outcome() == Probe::MEASURED && settings.role() == wanted.role &&
         (wanted.threads == 0 || settings.threads() == wanted.threads) &&
         (wanted.precision == RoleConfig::AUTO ||
          settings.precision() == wanted.precision) &&
         (wanted.layout == MemoryLayout::AUTO ||
          settings.layout() == wanted.layout);
}

RoleSettings SettingsOf(const Probe& probe) {
  const ProbeSettings& settings = probe.settings();
  return {.role = settings.role(),
          .precision = settings.precision(),
          .layout = settings.layout(),
          .threads = settings.threads(),
          .feedback = settings.feedback(),
          .image_source = settings.image_source()};
}

std::string MeasuredText(const Profile& profile, Role role) {
  std::set<std::string> measured;
  for (const Probe& probe : profile.probes()) {
    if (probe.outcome() == Probe::MEASURED && probe.settings().role() == role) {
      measured.insert(SettingsText(SettingsOf(probe)));
    }
  }
  return measured.empty() ? "nothing" : absl::StrJoin(measured, "; ");
}

// How much of it is not as wanted: a mode counts least, kernels most.
int DistanceOf(const RoleSettings& settings, const RoleSettings& wanted) {
  const bool same_mode = settings.feedback == wanted.feedback &&
                         settings.image_source == wanted.image_source;
  const bool same_threads =
      wanted.threads == 0 || settings.threads == wanted.threads;
  const bool same_kernels = settings.precision == wanted.precision &&
                            settings.layout == wanted.layout;
  return (same_mode ? 0 : 1) + (same_threads ? 0 : 2) + (same_kernels ? 0 : 4);
}

}  // namespace

int64_t PassesOf(const ProbeSettings& settings) {
  const int64_t micro = settings.micro_batch();
  if (micro <= 0 || micro >= settings.batch_size()) return 1;
  return (settings.batch_size() + micro - 1) / micro;
}

int64_t PassImages(const ProbeSettings& settings) {
  const int64_t passes = PassesOf(settings);
  return (settings.batch_size() + passes / 2) / passes;
}

bool SamePasses(const Probe& probe, const RoleSettings& wanted) {
  return (probe.settings().feedback() == ScheduleConfig::FUSED) ==
         (wanted.feedback == ScheduleConfig::FUSED);
}

absl::Status NotMeasured(const Profile& profile, const RoleSettings& settings,
                         const std::string& what) {
  return absl::NotFoundError(absl::StrCat(
      "the profile has no ", what, " of the ", Role_Name(settings.role),
      " with ", SettingsText(settings),
      "; it has: ", MeasuredText(profile, settings.role),
      ". Choose one of them, or measure it with `gandem profile`"));
}

absl::Status CheckProfile(const Profile& profile) {
  Faults faults("profile");
  faults.CheckRange("fingerprint.cores", profile.fingerprint().cores(), 0,
                    kMostThreads);
  CheckProbes(profile, faults);
  for (int i = 0; i < profile.transfers_size(); ++i) {
    const TransferProfile& transfer = profile.transfers(i);
    const std::string path = absl::StrCat("transfers(", i, ")");
    faults.CheckRange(path + ".latency_seconds", transfer.latency_seconds(), 0,
                      kLongestSeconds);
    faults.CheckPositive(path + ".bytes_per_second",
                         transfer.bytes_per_second(), 1e18);
    faults.CheckRange(path + ".compute_seconds_per_byte",
                      transfer.compute_seconds_per_byte(), 0, 1);
  }
  CheckState(profile.generator_state(), "generator_state", faults);
  CheckState(profile.discriminator_state(), "discriminator_state", faults);
  faults.CheckRange("spent_seconds", profile.spent_seconds(), 0, 1e9);
  faults.CheckRange("images_per_decode_thread_second",
                    profile.images_per_decode_thread_second(), 0, 1e12);
  return faults.empty() ? absl::OkStatus() : faults.ToStatus();
}

std::string SettingsText(const RoleSettings& settings) {
  return absl::StrCat(
      RoleConfig::Precision_Name(settings.precision), ", ",
      MemoryLayout_Name(settings.layout),
      settings.threads == 0
          ? ""
          : absl::StrCat(", ", settings.threads,
                         settings.threads == 1 ? " thread" : " threads"));
}

std::vector<const Probe*> ProbesOf(const Profile& profile,
                                   const RoleSettings& settings) {
  std::vector<const Probe*> probes;
  for (const Probe& probe : profile.probes()) {
    if (IsOf(probe, settings)) probes.push_back(&probe);
  }
  return probes;
}

std::vector<RoleSettings> OthersOf(const Profile& profile,
                                   const RoleSettings& settings) {
  std::vector<RoleSettings> others;
  for (const Probe& probe : profile.probes()) {
    const RoleSettings of_probe = SettingsOf(probe);
    if (probe.outcome() != Probe::MEASURED || of_probe.role != settings.role ||
        DistanceOf(of_probe, settings) == 0 ||
        std::ranges::find(others, of_probe) != others.end()) {
      continue;
    }
    others.push_back(of_probe);
  }
  std::ranges::stable_sort(others, {}, [&](const RoleSettings& other) {
    return DistanceOf(other, settings);
  });
  return others;
}

absl::StatusOr<RoleSettings> Resolve(const Profile& profile,
                                     RoleSettings settings) {
  if (settings.precision != RoleConfig::AUTO &&
      settings.layout != MemoryLayout::AUTO) {
    return settings;
  }
  double least = std::numeric_limits<double>::infinity();
  RoleSettings best = settings;
  for (const Probe* const probe : ProbesOf(profile, settings)) {
    // AUTO never becomes FLOAT64.
    if (settings.precision == RoleConfig::AUTO &&
        probe->settings().precision() == RoleConfig::FLOAT64) {
      continue;
    }
    if (!probe->has_round() || !SamePasses(*probe, settings)) continue;
    const double seconds = probe->round().median_seconds() /
                           static_cast<double>(probe->settings().batch_size());
    if (seconds >= least) continue;
    least = seconds;
    best.precision = probe->settings().precision();
    best.layout = probe->settings().layout();
  }
  if (std::isinf(least)) return NotMeasured(profile, settings, "round");
  return best;
}

int64_t LimitedPeakBytes(const Probe& probe) {
  return probe.has_device_memory() ? probe.device_memory().peak_bytes()
                                   : probe.peak_bytes();
}

void ScaleProbe(double factor, Probe& probe) {
  const auto scale = [factor](OperationTime& time) {
    time.set_median_seconds(factor * time.median_seconds());
    time.set_low_seconds(factor * time.low_seconds());
    time.set_high_seconds(factor * time.high_seconds());
  };
  for (OperationTime& time : *probe.mutable_operations()) scale(time);
  if (probe.has_round()) scale(*probe.mutable_round());
}

}  // namespace gandem
