// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/coordinator/checkpoint_commits.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace gandem {

void CheckpointCommits::BeginEpoch(int64_t run_epoch, int num_workers,
                                   int64_t committed_step) {
  GANDEM_CHECK(!is_busy());
  run_epoch_ = run_epoch;
  shards_ = ShardCollector(num_workers, rounds_);
  committed_step_ = settled_step_ = complete_step_ = committed_step;
}

absl::StatusOr<bool> CheckpointCommits::Add(int worker,
                                            const ShardReport& report) {
  if (report.step() >= 1 && report.step() <= complete_step_) return false;
  GANDEM_ASSIGN_OR_RETURN(const ShardCollector::State state,
                          shards_.Add(worker, report));
  if (state == ShardCollector::State::kIncomplete) return true;
  Job job{.step = report.step(), .run_epoch = run_epoch_};
  if (state == ShardCollector::State::kComplete) {
    job.files = shards_.Files(job.step);
  } else {
    job.shards = absl::DataLossError(shards_.Error(job.step));
  }
  complete_step_ = job.step;
  shards_.Settle(job.step);
  waiting_.push_back(std::move(job));
  return true;
}

std::optional<CheckpointCommits::Job> CheckpointCommits::Take() {
  if (is_taken_ || waiting_.empty()) return std::nullopt;
  is_taken_ = true;
  Job job = std::move(waiting_.front());
  waiting_.pop_front();
  return job;
}

std::string CheckpointCommits::Settle(const Job& job,
                                      const absl::Status& done) {
  GANDEM_CHECK(is_taken_);
  is_taken_ = false;
  settled_step_ = job.step;
  if (!done.ok()) {
    return absl::StrCat("the checkpoint of ", job.step,
                        " rounds could not be written: ", done.message());
  }
  committed_step_ = job.step;
  return absl::StrCat("checkpoint of ", job.step, " rounds is complete");
}

std::string CheckpointCommits::NewestText() const {
  if (committed_step_ == 0) return "There is no checkpoint yet";
  return absl::StrCat("The newest checkpoint has ", committed_step_, " of ",
                      rounds_, " rounds");
}

}  // namespace gandem
