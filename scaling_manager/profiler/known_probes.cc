// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/known_probes.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace gandem {

using google::protobuf::util::MessageDifferencer;

const Probe* FindProbe(const Profile& profile, const ProbeSettings& settings) {
  const auto found =
      std::ranges::find_if(profile.probes(), [&](const Probe& probe) {
        return MessageDifferencer::Equals(probe.settings(), settings);
      });
  return found == profile.probes().end() ? nullptr : &*found;
}

const Probe* NearestMeasured(const Profile& profile,
                             const ProbeSettings& settings) {
  const Probe* nearest = nullptr;
  const auto distance = [&](const Probe& probe) {
    const ProbeSettings& probed = probe.settings();
    return std::tuple(probed.role() != settings.role(),
                      probed.precision() != settings.precision(),
                      std::abs(probed.batch_size() - settings.batch_size()),
                      -probe.round().median_seconds());
  };
  for (const Probe& probe : profile.probes()) {
    if (probe.outcome() != Probe::MEASURED ||
        (settings.role() != COLOCATED &&
         probe.settings().role() != settings.role())) {
      continue;
    }
    if (nearest == nullptr || distance(probe) < distance(*nearest)) {
      nearest = &probe;
    }
  }
  return nearest;
}

bool IsNewPrecision(const Profile& profile, const ProbeSettings& settings) {
  const Probe* const near = NearestMeasured(profile, settings);
  return near != nullptr &&
         near->settings().precision() != settings.precision();
}

double LikelyRoundSeconds(const Profile& profile,
                          const ProbeSettings& settings) {
  const Probe* const near = NearestMeasured(profile, settings);
  if (near == nullptr) return 0;
  const double part = static_cast<double>(settings.batch_size()) /
                      static_cast<double>(near->settings().batch_size());
  return part * near->round().median_seconds() *
         (IsNewPrecision(profile, settings) ? kHopelesslySlow : 1);
}

namespace {

// How many times FLOAT32's a round of `probe` takes; 0: not known.
double SlowdownOf(const Profile& profile, const Probe& probe) {
  ProbeSettings settings = probe.settings();
  settings.set_precision(RoleConfig::FLOAT32);
  const Probe* const base = FindProbe(profile, settings);
  if (base == nullptr || !(base->round().median_seconds() > 0)) return 0;
  return probe.round().median_seconds() / base->round().median_seconds();
}

// Of a precision that was tried with other threads.
double SlowdownElsewhere(const Profile& profile,
                         const ProbeSettings& settings) {
  double slowdown = 0;
  for (const Probe& probe : profile.probes()) {
    ProbeSettings other = settings;
    other.set_threads(probe.settings().threads());
    if (probe.outcome() == Probe::MEASURED &&
        MessageDifferencer::Equals(other, probe.settings())) {
      slowdown = std::max(slowdown, SlowdownOf(profile, probe));
    }
  }
  return slowdown;
}

}  // namespace

std::string WhyHopeless(const Profile& profile, const ProbeSettings& settings) {
  if (const double slowdown = SlowdownElsewhere(profile, settings);
      slowdown > kHopelesslySlow) {
    return absl::StrCat(RoleConfig::Precision_Name(settings.precision()),
                        " took ", std::lround(slowdown),
                        " times as long as FLOAT32");
  }
  for (const Probe& probe : profile.probes()) {
    if (probe.outcome() != Probe::OUT_OF_MEMORY &&
        probe.outcome() != Probe::TIMED_OUT) {
      continue;
    }
    ProbeSettings smaller = settings;
    smaller.set_batch_size(probe.settings().batch_size());
    smaller.set_threads(probe.settings().threads());
    // A precision that did not come to its end is hopeless with any threads.
    const bool is_slow = probe.outcome() == Probe::TIMED_OUT &&
                         settings.precision() != RoleConfig::FLOAT32;
    const int64_t hopeless_from =
        probe.settings().batch_size() + (is_slow ? 0 : 1);
    if (settings.batch_size() >= hopeless_from &&
        MessageDifferencer::Equals(smaller, probe.settings())) {
      return absl::StrCat("batch ", probe.settings().batch_size(), " was ",
                          Probe::Outcome_Name(probe.outcome()));
    }
  }
  return "";
}

std::vector<ProbeQuestion> OpenQuestions(const Profile& profile,
                                         std::vector<ProbeQuestion> questions) {
  std::erase_if(questions, [&](const ProbeQuestion& question) {
    return std::ranges::all_of(question.together,
                               [&](const ProbeSettings& settings) {
                                 return FindProbe(profile, settings) != nullptr;
                               }) ||
           std::ranges::any_of(question.together,
                               [&](const ProbeSettings& settings) {
                                 return !WhyHopeless(profile, settings).empty();
                               });
  });
  return questions;
}

}  // namespace gandem
