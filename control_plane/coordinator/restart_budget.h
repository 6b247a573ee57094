// SPDX-License-Identifier: Apache-2.0
//
// Limits the number and the rate of worker restarts. The first restart is
// immediate; later ones wait for 1 s, 2 s, 4 s and so on. A worker that
// completes a round beyond all earlier ones resets its wait. Each restart is
// taken from a budget, and each hour of new rounds gives one back, so that a
// run of weeks survives occasional deaths while a crash loop ends. Workers that
// are found dead in the same tick of the coordinator count as one restart,
// because their machine was lost or overloaded.
//
// Owner: the coordinator. Thread safety: one thread at a time. Uses no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "common/config/worker_key.h"

namespace gandem {

class RestartBudget {
 public:
  struct Options {
    int restarts = 5;
    absl::Duration longest_wait = absl::Seconds(60);
  };

  explicit RestartBudget(const Options& options) : options_(options) {}

  // Counts the death of a worker. Returns false if the budget is used up.
  bool Spend(WorkerKey key, absl::Time now);
  // Ends the tick: later deaths count as another restart.
  void EndTick() { in_tick_.clear(); }
  // Records that the worker, which began at `first_round`, has completed
  // `completed` rounds since the start of the run.
  void NoteRounds(WorkerKey key, int64_t first_round, int64_t completed,
                  absl::Time now);

  // Returns the earliest start time of the worker's next process.
  absl::Time StartAt(WorkerKey key) const;
  // Returns the number of restarts, including the ones given back.
  int total() const { return total_; }
  int left() const { return options_.restarts - spent_; }
  // Example: "the budget of 5 restarts is used up ...".
  std::string UsedUpText() const;

 private:
  struct Deaths {
    int in_a_row = 0;
    int64_t rounds = 0;  // completed by the run at the last death
    absl::Time start_at = absl::InfinitePast();
  };

  absl::Duration Wait(int in_a_row) const;

  const Options options_;
  std::map<WorkerKey, Deaths> deaths_;
  int total_ = 0;
  int spent_ = 0;
  std::set<WorkerKey> in_tick_;  // workers that died in this tick
  int without_progress_ = 0;     // deaths since the last new round
  int64_t completed_ = 0;        // most rounds of any worker
  // Time up to which worked_ is counted; nullopt while no new rounds complete.
  std::optional<absl::Time> counted_until_;
  absl::Duration worked_;  // time of new rounds towards the next credit
};

}  // namespace gandem
