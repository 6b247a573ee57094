// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/known_probes.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

namespace gandem {

using google::protobuf::util::MessageDifferencer;

const Probe* FindProbe(const Profile& profile, const ProbeSettings& settings) {
  const auto found =
      std::ranges::find_if(profile.probes(), [&](const Probe& probe) {
        return MessageDifferencer::Equals(probe.settings(), settings);
      });
  return found == profile.probes().end() ? nullptr : &*found;
}

double LikelyRoundSeconds(const Profile& profile,
                          const ProbeSettings& settings) {
  const bool has_both = settings.role() == COLOCATED;
  double of_role = 0;  // seconds per image
  double of_precision = 0;
  for (const Probe& probe : profile.probes()) {
    const ProbeSettings& probed = probe.settings();
    if (probe.outcome() != Probe::MEASURED ||
        (!has_both && probed.role() != settings.role())) {
      continue;
    }
    const double pace = probe.round().median_seconds() /
                        static_cast<double>(probed.batch_size());
    of_role = std::max(of_role, pace);
    if (probed.precision() == settings.precision()) {
      of_precision = std::max(of_precision, pace);
    }
  }
  return (has_both ? 2 : 1) * static_cast<double>(settings.batch_size()) *
         (of_precision > 0 ? of_precision : of_role);
}

bool IsHopeless(const Profile& profile, const ProbeSettings& settings) {
  return std::ranges::any_of(profile.probes(), [&](const Probe& probe) {
    if (probe.outcome() != Probe::OUT_OF_MEMORY &&
        probe.outcome() != Probe::TIMED_OUT) {
      return false;
    }
    ProbeSettings other = settings;
    other.set_batch_size(probe.settings().batch_size());
    other.set_threads(probe.settings().threads());
    return settings.batch_size() >= other.batch_size() &&
           MessageDifferencer::Equals(other, probe.settings());
  });
}

std::vector<ProbeQuestion> OpenQuestions(const Profile& profile,
                                         std::vector<ProbeQuestion> questions) {
  std::erase_if(questions, [&](const ProbeQuestion& question) {
    return FindProbe(profile, question.together.front()) != nullptr ||
           std::ranges::any_of(question.together,
                               [&](const ProbeSettings& settings) {
                                 return IsHopeless(profile, settings);
                               });
  });
  return questions;
}

}  // namespace gandem
