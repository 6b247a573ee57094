// SPDX-License-Identifier: Apache-2.0
//
// How well the median of repetitions is known: an interval between two of the
// values, which holds the true median with a probability that needs no
// assumption on how they are distributed (Conover 1999, Practical Nonparametric
// Statistics, section 3.2: the number of values below the median is binomial).
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace gandem {

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

// Of at least one value. The median of an even number is the mean of the middle
// two.
MedianInterval MedianIntervalOf(std::vector<double> values);

}  // namespace gandem
