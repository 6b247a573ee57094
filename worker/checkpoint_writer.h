// SPDX-License-Identifier: Apache-2.0
//
// Writes a worker's share of checkpoints in the background (design.md section
// 8). Training stalls while it copies tensors: first those that change before
// the next update, then, at that update, those not yet written. It also waits
// for an unfinished write of the previous checkpoint.
//
// Owner: a worker's run epoch. Thread safety: AwaitRoom and Save from the
// compute thread, Close and Flush from any thread.
// Errors: a failed write (disk full ...) is reported and discards the
// checkpoint; training continues. Only the last checkpoint of a run is retried
// while the disk is full, read-only or missing, because its loss would lose
// rounds. Calls after Close() return its reason.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/thread.h"
#include "proto/checkpoint.pb.h"
#include "proto/control.pb.h"
#include "training/roles/training_role.h"

namespace gandem {

class CheckpointWriter : public CheckpointSink {
 public:
  struct Options {
    std::string run_dir;
    int64_t run_epoch = 0;
    // Files of this worker in each checkpoint: one per role.
    int files_per_checkpoint = 1;
    // Written as config.textproto unless empty; set in one worker of a run.
    std::string config_text;
    // Returns whether this checkpoint is the last one. Called after a failed
    // write on the writer's thread, without a lock. Null: never.
    std::function<bool(int64_t completed_rounds)> is_last = {};
    // Time limit for retrying the last checkpoint.
    absl::Duration patience = absl::ZeroDuration();
    absl::Duration retry_interval = absl::Seconds(1);
  };
  // Receives this worker's files once all are on disk, or the error. Sets
  // neither worker nor epoch.
  using Report = std::function<void(ShardReport)>;

  CheckpointWriter(Options options, Report report);
  ~CheckpointWriter() override;

  absl::Status AwaitRoom(const std::string& file) override;
  absl::Status Save(int64_t completed_rounds, std::string file,
                    std::shared_ptr<TensorSnapshot> share,
                    TensorChecksums checksums) override;
  // Waits until all checkpoints are written and reported, or discarded.
  absl::Status Flush(absl::Time deadline);
  // Fails waiting and later calls with `reason`. Completes the current file,
  // drops the rest and stops retries.
  void Close(absl::Status reason);

 private:
  struct Job {
    int64_t completed_rounds = 0;
    std::string file;
    std::shared_ptr<TensorSnapshot> share;
    TensorChecksums checksums;
  };

  void Run();
  //   DATA_LOSS  the bytes differ from those that the checksums were computed
  //              from
  static absl::Status AppendChecked(const Job& job, size_t index,
                                    FileWriter& writer);
  // Calls Write() and retries it if the disk may recover.
  absl::StatusOr<std::vector<CheckpointFile>> WritePatiently(const Job& job);
  // Returns false if no time is left, or after Close().
  bool WaitToRetry(absl::Time give_up);
  // Returns the worker's files after a checkpoint's last file, else none.
  absl::StatusOr<std::vector<CheckpointFile>> Write(const Job& job);

  const Options options_;
  const Report report_;

  absl::Mutex mu_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);
  std::string writing_ ABSL_GUARDED_BY(mu_);  // current file; empty: none
  bool leave_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);

  // Used only by the writing thread: files of incomplete checkpoints, by
  // completed rounds. With both roles in one process, the generator may be
  // several checkpoints ahead.
  std::map<int64_t, std::vector<CheckpointFile>> written_;
  std::set<int64_t> given_up_;  // by completed rounds

  Thread thread_;  // last: joined before the other members are destroyed
};

}  // namespace gandem
