// SPDX-License-Identifier: Apache-2.0
//
// Division of a probe's rounds into repetitions that all hold the same work,
// and the precision of the median of the repetitions.
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

// An interval between two of the values, which holds the true median with a
// probability that needs no assumption on how they are distributed (Conover
// 1999, Practical Nonparametric Statistics, section 3.2: the number of values
// below the median is binomial).
struct MedianInterval {
  double median = 0;
  // Covers the median in 95 of 100 cases; of fewer than six values, of which
  // none could, the least and the largest.
  double low = 0;
  double high = 0;
  int64_t values = 0;

  // Six values or more, and an interval that is narrower than `part` of the
  // median.
  bool IsWithin(double part) const {
    return values >= 6 && high - low < part * median;
  }
};

// Computes the interval of the median of at least one value. The median of an
// even number of values is the mean of the middle two.
MedianInterval MedianIntervalOf(std::vector<double> values);

}  // namespace gandem
