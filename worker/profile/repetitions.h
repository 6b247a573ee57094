// SPDX-License-Identifier: Apache-2.0
//
// Divides a probe's rounds into repetitions of equal work, and computes the
// precision of the repetitions' median.
//
// Two roles of a process take turns of up to lag + 1 rounds, until one must
// wait. Between two rounds of the discriminator lies a turn of the generator or
// nothing, but any lag + 1 rounds in a row contain lag + 1 of both roles.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/config.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

// Returns the rounds after which a probe of `role` may end: whole turns, so
// that the next measurement starts at the same point.
int64_t RoundsOfTurn(Role role, const ScheduleConfig& schedule);

// Returns the rounds of whole turns with equal numbers of lazy penalties.
int64_t RoundsOfRepetition(Role role, const RunConfig& config);

// Returns the means of each `rounds` consecutive values, without the remainder;
// of fewer values, their mean. `values` must not be empty; rounds >= 1.
std::vector<double> MeansOfRepetitions(const std::vector<double>& values,
                                       int64_t rounds);

// Interval between two of the values that contains the true median without
// assumptions about the distribution (Conover 1999, Practical Nonparametric
// Statistics, section 3.2: the number of values below the median is binomial).
struct MedianInterval {
  double median = 0;
  // 95 % interval; with fewer than six values the least and the largest value.
  double low = 0;
  double high = 0;
  int64_t values = 0;

  // Returns whether the interval is narrow, from six or more values.
  bool IsWithin(double part) const {
    return values >= 6 && high - low < part * median;
  }
};

// Computes the median's interval; `values` must not be empty. The median of an
// even number of values is the mean of the middle two.
MedianInterval MedianIntervalOf(std::vector<double> values);

}  // namespace gandem
