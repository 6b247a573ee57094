// SPDX-License-Identifier: Apache-2.0
#include "common/results/training_clock.h"

#include <algorithm>
#include <iterator>

namespace gandem {

TrainingClock::TrainingClock(const RoundHistory& history) {
  // Uses the lowest rank; all ranks do their rounds at the same time.
  const auto worker = history.rounds().lower_bound({DISCRIMINATOR, 0});
  if (worker == history.rounds().end() || worker->first.role != DISCRIMINATOR) {
    return;
  }
  Reading now;
  int64_t done = 0;
  for (const auto& [round, record] : worker->second) {
    const auto rounds = static_cast<double>(round + 1 - done);
    const int workers = std::max(1, record.workers);
    const double of_each = rounds / static_cast<double>(record.rounds);
    now.images += of_each * static_cast<double>(record.images) * workers;
    now.seconds += of_each * record.times.round;
    done = round + 1;
    readings_[done] = now;
  }
}

TrainingClock::Reading TrainingClock::At(int64_t rounds) const {
  const auto after = readings_.lower_bound(rounds);
  if (after == readings_.end()) {
    return readings_.empty() ? Reading() : readings_.rbegin()->second;
  }
  const bool is_first = after == readings_.begin();
  const int64_t from = is_first ? 0 : std::prev(after)->first;
  const Reading start = is_first ? Reading() : std::prev(after)->second;
  const double part = static_cast<double>(std::max(rounds, from) - from) /
                      static_cast<double>(after->first - from);
  return {.images = start.images + part * (after->second.images - start.images),
          .seconds =
              start.seconds + part * (after->second.seconds - start.seconds)};
}

}  // namespace gandem
