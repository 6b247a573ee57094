// SPDX-License-Identifier: Apache-2.0
//
// Detects that a run makes no progress and finds the worker that blocks it. A
// worker that sends heartbeats may still hang on a mount, a device or a
// connection, and then no worker finishes a round. The workers and the workers
// that they wait for form a graph; the suspect is the worker at the end of its
// chains, which waits for no other.
//
// Owner: the coordinator. Thread safety: one thread at a time. Uses no clock.
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
    int64_t rounds = 0;  // number of rounds of the run
    // Maximum time without a completed round; zero: no limit; nullopt: 60 s, or
    // 20 times the longest recent time between two rounds if longer.
    std::optional<absl::Duration> timeout = absl::ZeroDuration();
  };
  struct Worker {
    WorkerKey key;
    int64_t completed_rounds = 0;
    WorkerPosition position = {};  // its `rank` is a rank of the run
  };
  struct Stall {
    WorkerKey suspect;
    std::string text;  // "no worker has finished a round for 60 s ..."
  };

  explicit ProgressWatch(const Options& options) : options_(options) {}

  // Starts the rounds of a run epoch.
  void BeginEpoch(absl::Time now);
  // Ignores the time since the last Judge() or Skip(). Call it after a period
  // in which nothing was checked or the coordinator itself delayed the run.
  void Skip(absl::Time now);
  // Checks all workers of the epoch; call it several times a second. The limit
  // is ten times as long until each worker has finished a round of the epoch,
  // and while a worker waits for a checkpoint. The time does not count while
  // the coordinator holds a worker back, or once all rounds are done.
  std::optional<Stall> Judge(std::span<const Worker> workers, absl::Time now);

 private:
  bool IsOff(std::span<const Worker> workers) const;
  bool IsSlowPart(std::span<const Worker> workers) const;
  absl::Duration Limit() const;
  // Returns whether a round was finished since the last call.
  bool NoteRounds(std::span<const Worker> workers);

  const Options options_;
  absl::Time judged_;                      // last Judge() or Skip()
  absl::Time last_done_;                   // end of the last round
  absl::Duration used_;                    // counted time since last_done_
  bool was_slow_part_ = true;              // at any time since the last round
  int64_t completed_ = 0;                  // rounds, summed over workers
  std::map<WorkerKey, int64_t> at_begin_;  // rounds when the epoch began
  std::deque<absl::Duration> gaps_;        // between rounds, the newest last
};

// Returns the worker at the end of the chains of waiting workers, which waits
// for no other worker. If there are several, or if all workers wait for each
// other: the one with the fewest rounds, then the one that has been waiting
// longest. `workers` must not be empty.
WorkerKey FindSuspect(std::span<const ProgressWatch::Worker> workers,
                      int64_t rounds);

// Example: "generator 0 waits for feedback of discriminator 1 since 58 s; ..."
std::string WaitGraphText(std::span<const ProgressWatch::Worker> workers,
                          int64_t rounds);

}  // namespace gandem
