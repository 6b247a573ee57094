// SPDX-License-Identifier: Apache-2.0
//
// Tracks which checkpoints of a run are complete and which one to commit next.
// A checkpoint is queued when all its shards are reported. The thread that does
// the disk work calls Take(), commits the checkpoint, and passes the result to
// Settle(): the checkpoint is committed or given up.
//
// Workers that share the state of a role report a checksum of that state. If
// the checksums differ, the checkpoint and all later ones of the epoch are
// given up, because their state derives from it.
//
// Owner: the coordinator. Thread safety: one thread at a time. Uses no disk.
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
  struct Parting {
    std::vector<int> workers = {};  // worker ids as passed to Add()
    std::vector<std::string> files = {};
    // Indices of workers outside the majority; all if there is none.
    std::vector<size_t> apart = {};
  };
  struct Job {
    int64_t step = 0;
    int64_t run_epoch = 0;
    std::vector<CheckpointFile> files = {};  // sorted by name
    // Error reported by a worker, which makes the checkpoint unusable.
    absl::Status shards = {};
    std::optional<Parting> parting = {};
    // Earliest time of the next try after a failed commit.
    absl::Time next_try = absl::InfinitePast();
    absl::Time give_up_at = absl::InfiniteFuture();
  };

  explicit CheckpointCommits(int64_t rounds) : rounds_(rounds) {}

  // Begins an epoch in which each of `num_workers` workers reports a shard of
  // every checkpoint. Requires !is_busy(). `committed_step`: newest on disk.
  void BeginEpoch(int64_t run_epoch, int num_workers, int64_t committed_step);

  // Adds a worker's report, which replaces an earlier one of the worker. Each
  // worker reports its steps in ascending order. Returns false, and ignores the
  // report, if all shards of its step or of a later step are already known.
  //   INVALID_ARGUMENT  the report contradicts earlier reports or is malformed
  absl::StatusOr<bool> Add(int worker, const ShardReport& report);

  // Returns the next checkpoint to commit, if any. Returns nullopt while a job
  // has not been passed to Settle() or PutBack().
  std::optional<Job> Take(absl::Time now);
  // Puts the job back at the head of the queue, to be tried at its next_try.
  void PutBack(Job job);
  // Ends the job with the result `done`. Returns a message for the operator.
  std::string Settle(const Job& job, const absl::Status& done);
  // Returns whether a checkpoint is queued or being committed.
  bool is_busy() const { return is_taken_ || !waiting_.empty(); }

  int64_t committed_step() const { return committed_step_; }  // 0: none
  // Newest step that was committed or given up.
  int64_t settled_step() const { return settled_step_; }
  // Example: "The newest checkpoint has 4 of 10 rounds".
  std::string NewestText() const;

 private:
  using Reports = std::map<int, ShardReport>;  // by worker

  absl::Status Check(int worker, const ShardReport& report) const;
  void CompareStates(const Reports& reports, Job& job);

  const int64_t rounds_;
  int64_t run_epoch_ = 0;
  int num_workers_ = 0;
  std::map<int64_t, Reports> reports_;  // incomplete checkpoints, by step
  int64_t complete_step_ = 0;           // newest step with all shards reported
  std::deque<Job> waiting_;
  bool is_taken_ = false;
  bool has_parted_ = false;  // states differed in this epoch
  int64_t committed_step_ = 0;
  int64_t settled_step_ = 0;
};

}  // namespace gandem
