// SPDX-License-Identifier: Apache-2.0
//
// Which rounds of a probe are one repetition: so many that every repetition
// holds the same work.
//
// Two roles of a process take turns: each works until it has to wait for the
// other, which is for up to lag + 1 rounds. From one of the discriminator's
// rounds to the next therefore lies either a turn of the generator or nothing
// of it, but any lag + 1 in a row hold lag + 1 rounds of both.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/config.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

// Rounds after which a probe of `role` may end: whole turns, so that the next
// measurement begins where this one did.
int64_t RoundsOfTurn(Role role, const ScheduleConfig& schedule);

// Whole turns with as many lazy penalties as any others.
int64_t RoundsOfRepetition(Role role, const RunConfig& config);

// The means of each `rounds` values in a row, what is left over at the end
// without; of fewer values that of all. At least one value; rounds >= 1.
std::vector<double> MeansOfRepetitions(const std::vector<double>& values,
                                       int64_t rounds);

}  // namespace gandem
