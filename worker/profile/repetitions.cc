// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/repetitions.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"
#include "common/config/loss_needs.h"

namespace gandem {

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

}  // namespace gandem
