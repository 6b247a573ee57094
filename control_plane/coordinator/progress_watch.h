// SPDX-License-Identifier: Apache-2.0
//
// Whether a run still makes progress, and who holds it up when it does not. A
// worker whose heartbeats come may hang all the same: on a mount that does not
// answer, a device, a connection between two workers. Then no worker finishes a
// round any more, and what each of them waits for is a graph: the one at the
// end of its chains, who waits for nobody, is the suspect.
//
// Owner: the coordinator. Thread safety: one thread at a time. It knows no
// clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "absl/time/time.h"
#include "common/config/worker_key.h"
#include "proto/control.pb.h"

namespace gandem {

class ProgressWatch {
 public:
  struct Options {
    int64_t rounds = 0;  // of the run
    // At most so long without a round of any worker; zero: no limit. Nothing:
    // 60 s, or 20 times the longest time between two rounds of late.
    std::optional<absl::Duration> timeout = absl::ZeroDuration();
  };
  struct Worker {
    WorkerKey key;
    int64_t completed_rounds = 0;
    WorkerPosition position = {};  // whose rank is that of the run
  };
  struct Stall {
    WorkerKey suspect;
    std::string text;  // "no worker has finished a round for 60 s ..."
  };

  explicit ProgressWatch(const Options& options) : options_(options) {}

  // A run epoch's rounds begin.
  void BeginEpoch(absl::Time now);
  // What passed since the last Judge or Skip does not count: nobody looked, or
  // the coordinator itself held the run up.
  void Skip(absl::Time now);
  // Call it several times a second, with all workers of the epoch. Ten times as
  // long is allowed until each has finished a round of the epoch, and while one
  // waits for a checkpoint; no time counts while the coordinator holds a worker
  // back, or when all rounds are done.
  std::optional<Stall> Judge(std::span<const Worker> workers, absl::Time now);

 private:
  bool IsOff(std::span<const Worker> workers) const;
  bool IsSlowPart(std::span<const Worker> workers) const;
  absl::Duration Limit() const;
  // Whether a round was finished since the last call.
  bool NoteRounds(std::span<const Worker> workers);

  const Options options_;
  absl::Time judged_;                      // the last Judge or Skip
  absl::Time last_done_;                   // a round, as far as time counts
  absl::Duration used_;                    // of what is allowed
  bool was_slow_part_ = true;              // at some time since the last round
  int64_t completed_ = 0;                  // by all workers together
  std::map<WorkerKey, int64_t> at_begin_;  // completed rounds; of the epoch
  std::deque<absl::Duration> gaps_;        // between rounds, the newest last
};

// The worker that waits for nobody and is awaited by others, at the end of the
// chains of waiting workers. Of several, and where all wait for each other, the
// one with the fewest rounds, then the one that has been there longest.
// `workers` is not empty.
WorkerKey FindSuspect(std::span<const ProgressWatch::Worker> workers,
                      int64_t rounds);

// "generator 0 waits for feedback of discriminator 1 since 58 s; ..."
std::string WaitGraphText(std::span<const ProgressWatch::Worker> workers,
                          int64_t rounds);

}  // namespace gandem
