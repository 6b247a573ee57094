// SPDX-License-Identifier: Apache-2.0
//
// State of an unfinished profile: answered questions, the likely time of
// another probe, and probes that would fail.
// Owner: values. Thread safety: pure functions.
#pragma once

#include <vector>

#include "proto/profile.pb.h"
#include "scaling_manager/profiler/probe_list.h"

namespace gandem {

// Returns the probe with these settings, or nullptr.
const Probe* FindProbe(const Profile& profile, const ProbeSettings& settings);

// Returns an upper estimate of the seconds of a round with these settings: the
// batch at the pace of the slowest probe of the same role and precision or,
// without such a probe, of the role. Returns 0 if the role was not measured.
double LikelyRoundSeconds(const Profile& profile,
                          const ProbeSettings& settings);

// Returns whether the profile has a probe that ran out of memory or time and
// differs only in its threads and in an equal or smaller batch.
bool IsHopeless(const Profile& profile, const ProbeSettings& settings);

// Returns the questions that are neither answered nor hopeless.
std::vector<ProbeQuestion> OpenQuestions(const Profile& profile,
                                         std::vector<ProbeQuestion> questions);

}  // namespace gandem
