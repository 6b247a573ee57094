// SPDX-License-Identifier: Apache-2.0
//
// Which checkpoints of a run are complete, and which one is to be committed
// next. A checkpoint whose shards every worker has reported waits for its turn,
// is taken once by whoever does the disk work, and is settled by that work's
// result: committed or given up, for good.
//
// The workers of a role that share its state report a checksum of it. Where
// these differ, the checkpoint is given up, and so are all later ones of the
// epoch, whose state comes from this one.
//
// Owner: the coordinator. Thread safety: one thread at a time. It touches no
// disk.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/control.pb.h"

namespace gandem {

class CheckpointCommits {
 public:
  // The workers of one role, by rank, whose states were not the same.
  struct Parting {
    std::vector<int> workers = {};  // as Add names them
    std::vector<std::string> files = {};
    // Indices of those above whose state most of them do not have; all, where
    // nobody can tell who is right.
    std::vector<size_t> apart = {};
  };
  // One checkpoint whose shards were all reported.
  struct Job {
    int64_t step = 0;
    int64_t run_epoch = 0;
    std::vector<CheckpointFile> files = {};  // sorted by name
    // The first worker's error: it is given up.
    absl::Status shards = {};
    // The first role whose ranks differ; the next epoch finds others.
    std::optional<Parting> parting = {};
    // It failed and is tried again.
    absl::Time next_try = absl::InfinitePast();
    absl::Time give_up_at = absl::InfiniteFuture();
  };

  // Of a run of `rounds` rounds.
  explicit CheckpointCommits(int64_t rounds) : rounds_(rounds) {}

  // Each of `num_workers` writes its share; `committed_step` is on disk. Steps
  // that were given up may be written again. Not while it is busy.
  void BeginEpoch(int64_t run_epoch, int num_workers, int64_t committed_step);

  // A repeated report replaces the one before. False: it says nothing new, its
  // step, or a later one, was complete before: workers report in ascending
  // order.
  //   INVALID_ARGUMENT  it makes no sense; nothing changed.
  absl::StatusOr<bool> Add(int worker, const ShardReport& report);

  // The next one to commit, one at a time: none before Settle or PutBack.
  std::optional<Job> Take(absl::Time now);
  // It is the next one again, from its next_try on.
  void PutBack(Job job);
  // `done` is how the work on the job ended. Returns it in words.
  std::string Settle(const Job& job, const absl::Status& done);
  // Something waits or is taken: committed_step() may be about to change.
  bool is_busy() const { return is_taken_ || !waiting_.empty(); }

  int64_t committed_step() const { return committed_step_; }  // 0: none
  // Committed or given up.
  int64_t settled_step() const { return settled_step_; }
  // "The newest checkpoint has 4 of 10 rounds"
  std::string NewestText() const;

 private:
  using Reports = std::map<int, ShardReport>;  // by worker

  absl::Status Check(int worker, const ShardReport& report) const;
  // Gives the job up if the states in `reports` differ.
  void CompareStates(const Reports& reports, Job& job);

  const int64_t rounds_;
  int64_t run_epoch_ = 0;
  int num_workers_ = 0;
  std::map<int64_t, Reports> reports_;  // by step; not all workers' yet
  int64_t complete_step_ = 0;  // the newest whose shards were all reported
  std::deque<Job> waiting_;
  bool is_taken_ = false;
  bool has_parted_ = false;  // in this epoch
  int64_t committed_step_ = 0;
  int64_t settled_step_ = 0;
};

}  // namespace gandem
