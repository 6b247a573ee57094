// SPDX-License-Identifier: Apache-2.0
//
// What a profile that is being measured knows: which questions are answered,
// how long another probe may take, and which need not be tried.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/profile.pb.h"
#include "scaling_manager/profiler/probe_list.h"

namespace gandem {

// The probe with these settings; null: there is none.
const Probe* FindProbe(const Profile& profile, const ProbeSettings& settings);

// The probe that tells how long another one may take: of its role, of its
// precision if there is one, of the nearest batch, and of several the slowest.
// Null: there is none.
const Probe* NearestMeasured(const Profile& profile,
                             const ProbeSettings& settings);

// Slower than this many times FLOAT32, a precision is nothing that a plan takes
// whatever the threads.
inline constexpr double kHopelesslySlow = 4;

// How long a round of these settings may take, by the nearest probe: one in
// another precision says that it may be as slow as a plan would bear. 0: there
// is none.
double LikelyRoundSeconds(const Profile& profile,
                          const ProbeSettings& settings);

// Nothing is known of this precision, which may be slow beyond all measure.
bool IsNewPrecision(const Profile& profile, const ProbeSettings& settings);

// Why a probe need not be tried: a smaller batch was too large, or its
// precision was far slower than FLOAT32 with other threads. Empty: nothing is
// known against it.
std::string WhyHopeless(const Profile& profile, const ProbeSettings& settings);

// Those of `questions` that are not answered and not hopeless: the budget was
// over, or the profile was stopped.
std::vector<ProbeQuestion> OpenQuestions(const Profile& profile,
                                         std::vector<ProbeQuestion> questions);

}  // namespace gandem
