// SPDX-License-Identifier: Apache-2.0
//
// Writes a worker's share of checkpoints in the background (design.md section
// 8). Training stalls for the copy of what changes before the next update, and
// there for that of what is not written yet, unless the checkpoint before is
// still being written.
//
// Owner: a worker's run epoch. Thread safety: AwaitRoom and Save from the
// compute thread, Close and Flush from any.
// Errors: a shard that cannot be written (disk full ...) is reported, its
// checkpoint is given up and training goes on. Only the last one of a run is
// tried again while the disk is full, read-only or away: without it rounds are
// lost.
// Calls after Close() get its reason.
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
    // Files that this worker contributes to each checkpoint: one per role.
    int files_per_checkpoint = 1;
    // Written beside them as config.textproto when not empty; one worker of a
    // run does that.
    std::string config_text;
    // Tells whether the checkpoint after `completed_rounds` rounds is the last
    // one; called when the disk is full, on the writer's thread without a lock
    // held. Null: never.
    std::function<bool(int64_t completed_rounds)> is_last = {};
    // Time limit for retrying the last checkpoint.
    absl::Duration patience = absl::ZeroDuration();
    absl::Duration retry_interval = absl::Seconds(1);
  };
  // Gets the files of this worker when all are on disk, or the error. The
  // caller fills in the reporting worker and the epoch.
  using Report = std::function<void(ShardReport)>;

  CheckpointWriter(Options options, Report report);
  ~CheckpointWriter() override;

  absl::Status AwaitRoom(const std::string& file) override;
  absl::Status Save(int64_t completed_rounds, std::string file,
                    std::shared_ptr<TensorSnapshot> share,
                    TensorChecksums checksums) override;
  // Waits until everything is written and reported, or given up.
  absl::Status Flush(absl::Time deadline);
  // Fails waiting and later calls with `reason`; what is being written is
  // completed, the rest is dropped, and nothing is tried again.
  void Close(absl::Status reason);

 private:
  struct Job {
    int64_t completed_rounds = 0;
    std::string file;
    std::shared_ptr<TensorSnapshot> share;
    TensorChecksums checksums;
  };

  void Run();
  //   DATA_LOSS  it is not what the checksums were computed of.
  static absl::Status AppendChecked(const Job& job, size_t index,
                                    FileWriter& writer);
  // Write(), as often as there is hope.
  absl::StatusOr<std::vector<CheckpointFile>> WritePatiently(const Job& job);
  // False: no time is left, or Close() was called.
  bool WaitToRetry(absl::Time give_up);
  // The worker's files once the last of the checkpoint is written, else none.
  absl::StatusOr<std::vector<CheckpointFile>> Write(const Job& job);

  const Options options_;
  const Report report_;

  absl::Mutex mu_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);
  std::string writing_ ABSL_GUARDED_BY(mu_);  // the file; empty: none
  bool leave_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);

  // The writing thread's own: files of checkpoints that are not complete yet,
  // by completed rounds. With both roles in one process the generator may be
  // some checkpoints ahead.
  std::map<int64_t, std::vector<CheckpointFile>> written_;
  std::set<int64_t> given_up_;  // by completed rounds

  Thread thread_;  // last: joins before the rest goes
};

}  // namespace gandem
