// SPDX-License-Identifier: Apache-2.0
//
// Training time and images of a run at each checkpoint, for plots of quality.
//
// Times are the discriminator's. Each round counts once, without pauses and
// repetitions. Rounds without a record (metrics_every_rounds, removed files)
// take as long as the next recorded round.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>

#include "common/results/round_history.h"

namespace gandem {

class TrainingClock {
 public:
  struct Reading {
    double images = 0;
    double seconds = 0;
  };

  // All readings are 0.
  TrainingClock() = default;
  explicit TrainingClock(const RoundHistory& history);

  // Returns the reading after `rounds` rounds, at most that of the last record.
  Reading At(int64_t rounds) const;

 private:
  std::map<int64_t, Reading> readings_;  // by rounds done
};

}  // namespace gandem
