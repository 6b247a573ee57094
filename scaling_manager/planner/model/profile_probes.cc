// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/profile_probes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/field_ranges.h"
#include "common/faults.h"

namespace gandem {
namespace {

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

// Returns the weighted number of differences; kernels have the most weight.
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
  CheckRanges("", profile, faults);
  for (int i = 0; i < profile.probes_size(); ++i) {
    const Probe& probe = profile.probes(i);
    if (probe.outcome() != Probe::MEASURED) continue;
    if (!probe.settings().has_batch_size()) {
      faults.Add(
          absl::StrCat("probes[", i, "].settings.batch_size is missing"));
    }
    if (probe.has_round() && probe.round().median_seconds() == 0) {
      faults.Add(absl::StrCat("probes[", i,
                              "].round.median_seconds 0: no round takes no "
                              "time"));
    }
  }
  for (int i = 0; i < profile.transfers_size(); ++i) {
    if (!profile.transfers(i).has_bytes_per_second()) {
      faults.Add(
          absl::StrCat("transfers[", i, "].bytes_per_second is missing"));
    }
  }
  return faults.ToStatus();
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

}  // namespace gandem
