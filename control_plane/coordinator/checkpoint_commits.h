// SPDX-License-Identifier: Apache-2.0
//
// Tracks which checkpoints of a run are complete and which one to commit next.
// A checkpoint whose shards are all reported waits for its turn, is taken once
// by the thread that does the disk work, and is then settled by the result:
// committed or given up, for good.
//
// The workers that share the state of a role report a checksum of it. If the
// checksums differ, the checkpoint is given up, and all later ones of the epoch
// too, because their state derives from it.
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
  // The workers of one role, by rank, if their states differed.
  struct Parting {
    std::vector<int> workers = {};  // ids as for Add
    std::vector<std::string> files = {};
    // Indices into `workers` of those that differ from the majority; all
    // workers if there is no majority.
    std::vector<size_t> apart = {};
  };
  // A checkpoint whose shards were all reported.
  struct Job {
    int64_t step = 0;
    int64_t run_epoch = 0;
    std::vector<CheckpointFile> files = {};  // sorted by name
    // An error of a worker; the checkpoint is then given up.
    absl::Status shards = {};
    // The first role whose ranks differ. The next epoch finds further ones.
    std::optional<Parting> parting = {};
    // When to try again after a failure.
    absl::Time next_try = absl::InfinitePast();
    absl::Time give_up_at = absl::InfiniteFuture();
  };

  // `rounds`: length of the run.
  explicit CheckpointCommits(int64_t rounds) : rounds_(rounds) {}

  // Expects a shard from each of `num_workers`; `committed_step` is on disk.
  // Steps that were given up may be written again. Not while is_busy().
  void BeginEpoch(int64_t run_epoch, int num_workers, int64_t committed_step);

  // Adds a worker's report; a repeated report replaces the earlier one. Workers
  // report in ascending order. False: its step or a later one was complete.
  //   INVALID_ARGUMENT  the report contradicts earlier ones; nothing changed.
  absl::StatusOr<bool> Add(int worker, const ShardReport& report);

  // The next checkpoint to commit. None until Settle or PutBack of the last.
  std::optional<Job> Take(absl::Time now);
  // Makes the job the next one again, from its next_try on.
  void PutBack(Job job);
  // Ends the job with the result `done`. Returns a line for the operator.
  std::string Settle(const Job& job, const absl::Status& done);
  // Whether a checkpoint waits or is taken, so committed_step() may change.
  bool is_busy() const { return is_taken_ || !waiting_.empty(); }

  int64_t committed_step() const { return committed_step_; }  // 0: none
  // Committed or given up.
  int64_t settled_step() const { return settled_step_; }
  // "The newest checkpoint has 4 of 10 rounds"
  std::string NewestText() const;

 private:
  using Reports = std::map<int, ShardReport>;  // by worker

  absl::Status Check(int worker, const ShardReport& report) const;
  // Marks the job to be given up if the states in `reports` differ.
  void CompareStates(const Reports& reports, Job& job);

  const int64_t rounds_;
  int64_t run_epoch_ = 0;
  int num_workers_ = 0;
  std::map<int64_t, Reports> reports_;  // of incomplete checkpoints, by step
  int64_t complete_step_ = 0;           // newest with all shards reported
  std::deque<Job> waiting_;
  bool is_taken_ = false;
  bool has_parted_ = false;  // in this epoch
  int64_t committed_step_ = 0;
  int64_t settled_step_ = 0;
};

}  // namespace gandem
