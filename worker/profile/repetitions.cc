// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/repetitions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/check.h"
#include "common/config/loss_needs.h"

namespace gandem {
namespace {

// Returns the number of values that can be left out on either side: the largest
// k with P(Binomial(n, 1/2) < k) <= 0.025.
int64_t LeftOut(int64_t n) {
  double below = 0;                                         // P(X < k)
  double probability = std::exp2(-static_cast<double>(n));  // P(X = k)
  for (int64_t k = 0;; ++k) {
    if (below + probability > 0.025) return k;
    below += probability;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
}

// exp2(-n) does not underflow up to this n.
constexpr int64_t kMostValues = 1000;

}  // namespace

int64_t RoundsOfTurn(Role role, const ScheduleConfig& schedule) {
  return role == COLOCATED ? schedule.lag() + 1 : 1;
}

int64_t RoundsOfRepetition(Role role, const RunConfig& config) {
  const PenaltyConfig& penalties = config.penalties();
  const int64_t between_penalties =
      HasGradientPenalty(penalties) ? penalties.gradient_every_steps() : 1;
  const int64_t between_lengths =
      penalties.path_length() > 0 ? penalties.path_length_every_steps() : 1;
  return std::lcm(RoundsOfTurn(role, config.schedule()),
                  std::lcm(between_penalties, between_lengths));
}

std::vector<double> MeansOfRepetitions(const std::vector<double>& values,
                                       int64_t rounds) {
  GANDEM_CHECK(!values.empty() && rounds >= 1);
  const int64_t size = std::min(rounds, std::ssize(values));
  std::vector<double> means;
  for (auto begin = values.begin(); values.end() - begin >= size;
       begin += size) {
    means.push_back(std::accumulate(begin, begin + size, 0.0) /
                    static_cast<double>(size));
  }
  return means;
}

MedianInterval MedianIntervalOf(std::vector<double> values) {
  GANDEM_CHECK(!values.empty());
  if (std::ssize(values) > kMostValues) {
    values.erase(values.begin(), values.end() - kMostValues);
  }
  std::ranges::sort(values);
  const int64_t n = std::ssize(values);
  // The interval lies between values number k and n + 1 - k, counted from 1.
  const int64_t out = std::max<int64_t>(1, LeftOut(n)) - 1;
  return {.median = (values[(n - 1) / 2] + values[n / 2]) / 2,
          .low = values[out],
          .high = values[n - 1 - out],
          .values = n};
}

}  // namespace gandem
