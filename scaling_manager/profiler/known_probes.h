// SPDX-License-Identifier: Apache-2.0
//
// What a profile that is being measured knows: which questions are answered,
// how long another probe may take, and which need not be tried.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <vector>

#include "proto/profile.pb.h"
#include "scaling_manager/profiler/probe_list.h"

namespace gandem {

// The probe with these settings; null: there is none.
const Probe* FindProbe(const Profile& profile, const ProbeSettings& settings);

// Upper estimate of the seconds of a round with these settings: as many images
// at the pace of the slowest probe of the role and precision, or of the role
// where no probe has the precision. 0: the role was not measured.
double LikelyRoundSeconds(const Profile& profile,
                          const ProbeSettings& settings);

// Does the profile have a probe that differs in nothing but its threads and
// that, with the same or a smaller batch, ran out of memory or of time?
bool IsHopeless(const Profile& profile, const ProbeSettings& settings);

// The questions that are not answered and not hopeless: the budget was over, or
// the profile was stopped.
std::vector<ProbeQuestion> OpenQuestions(const Profile& profile,
                                         std::vector<ProbeQuestion> questions);

}  // namespace gandem
