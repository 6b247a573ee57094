// SPDX-License-Identifier: Apache-2.0
//
// The state of an unfinished profile: which questions are answered, how
// long another probe may take, and which probes would fail.
// Owner: values. Thread safety: pure functions.
#pragma once

#include <vector>

#include "proto/profile.pb.h"
#include "scaling_manager/profiler/probe_list.h"

namespace gandem {

// The probe with these settings; nullptr if there is none.
const Probe* FindProbe(const Profile& profile, const ProbeSettings& settings);

// Upper estimate of the seconds of a round with these settings: the batch at
// the pace of the slowest probe of the same role and precision or, if no probe
// has the precision, of the role. 0 if the role was not measured.
double LikelyRoundSeconds(const Profile& profile,
                          const ProbeSettings& settings);

// Whether the profile has a probe that ran out of memory or time and differs
// only in its threads and in an equal or smaller batch.
bool IsHopeless(const Profile& profile, const ProbeSettings& settings);

// The questions that are neither answered nor hopeless, because the budget was
// over or profiling was stopped.
std::vector<ProbeQuestion> OpenQuestions(const Profile& profile,
                                         std::vector<ProbeQuestion> questions);

}  // namespace gandem
