// SPDX-License-Identifier: Apache-2.0
//
// How many images a run had trained on, and for how long, when a checkpoint was
// made: what its quality is plotted against.
//
// Times are those of the discriminator, whose steps are the run's. Each round
// counts once: pauses between two starts and rounds that were repeated are left
// out. Rounds without a record (metrics_every_rounds, removed files) take as
// long as the next recorded round.
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

  // An empty clock, whose readings are all 0.
  TrainingClock() = default;
  explicit TrainingClock(const RoundHistory& history);

  // When so many rounds were done. After the last record: that of the last.
  Reading At(int64_t rounds) const;

 private:
  std::map<int64_t, Reading> readings_;  // by rounds done
};

}  // namespace gandem
