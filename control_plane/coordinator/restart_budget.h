// SPDX-License-Identifier: Apache-2.0
//
// How often workers may be started again, and when. The first time at once,
// then after 1 s, 2 s, 4 s and so on; a worker that completes a round of its
// own beyond all before starts over. A run has a budget of restarts. An hour of
// rounds that had not been completed before gives one back, so a run of weeks
// may lose a worker now and then, and a crash loop ends. Workers that are found
// dead in one tick of the coordinator are one restart: a machine that was lost,
// or one that was too busy.
//
// Owner: the coordinator. Thread safety: one thread at a time. It knows no
// clock.
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

  // A worker has died. False: the budget is used up.
  bool Spend(WorkerKey key, absl::Time now);
  // Deaths from now on are another restart than those before.
  void EndTick() { in_tick_.clear(); }
  // The worker has completed `completed` rounds since the start of the run; it
  // began at `first_round`.
  void NoteRounds(WorkerKey key, int64_t first_round, int64_t completed,
                  absl::Time now);

  // Its next process may start from then on.
  absl::Time StartAt(WorkerKey key) const;
  // Deaths that were counted, given back or not.
  int total() const { return total_; }
  int left() const { return options_.restarts - spent_; }
  // "the budget of 5 restarts is used up ..."
  std::string UsedUpText() const;

 private:
  struct Deaths {
    int in_a_row = 0;
    int64_t rounds = 0;  // that the run had completed at the last one
    absl::Time start_at = absl::InfinitePast();
  };

  absl::Duration Wait(int in_a_row) const;

  const Options options_;
  std::map<WorkerKey, Deaths> deaths_;
  int total_ = 0;
  int spent_ = 0;
  std::set<WorkerKey> in_tick_;  // have died in this tick
  int without_progress_ = 0;     // deaths since the last new round
  int64_t completed_ = 0;        // by any worker, ever
  // Since when new rounds are being completed.
  std::optional<absl::Time> counted_until_;
  absl::Duration worked_;  // towards the next restart that is given back
};

}  // namespace gandem
