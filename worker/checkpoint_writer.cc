// SPDX-License-Identifier: Apache-2.0
#include "worker/checkpoint_writer.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/checkpoint/safetensors_writer.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/failpoint.h"
#include "common/process/log.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "common/trace/trace.h"

namespace gandem {
namespace {

ShardReport ReportOf(int64_t completed_rounds,
                     const absl::StatusOr<std::vector<CheckpointFile>>& files) {
  ShardReport report;
  report.set_step(completed_rounds);
  if (files.ok()) {
    report.mutable_files()->Assign(files->begin(), files->end());
  } else {
    GANDEM_LOG_ERROR("checkpoint after {} rounds is given up: {}",
                     completed_rounds, files.status());
    report.set_error(files.status().ToString());
  }
  return report;
}

CheckpointFile Describe(const std::string& name, int64_t size, uint32_t crc) {
  CheckpointFile file;
  file.set_name(name);
  file.set_size(size);
  file.set_crc32c(crc);
  return file;
}

}  // namespace

CheckpointWriter::CheckpointWriter(Options options, Report report)
    : options_(std::move(options)),
      report_(std::move(report)),
      thread_("checkpoint", [this] { Run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  Close(absl::CancelledError("the worker leaves"));
}

absl::Status CheckpointWriter::AwaitRoom(const std::string& file) {
  absl::MutexLock lock(&mu_);
  const auto may_add = [this, &file]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    const auto waiting =
        static_cast<int>(jobs_.size()) + (writing_.empty() ? 0 : 1);
    const bool is_free =
        waiting < options_.files_per_checkpoint && writing_ != file &&
        std::ranges::find(jobs_, file, &Job::file) == jobs_.end();
    return !status_.ok() || is_free;
  };
  // Bounded by the disk's speed; Close() ends the wait.
  mu_.Await(absl::Condition(&may_add));
  return status_;
}

absl::Status CheckpointWriter::Save(int64_t completed_rounds, std::string file,
                                    std::shared_ptr<TensorSnapshot> share,
                                    TensorChecksums checksums) {
  absl::MutexLock lock(&mu_);
  GANDEM_RETURN_IF_ERROR(status_);
  jobs_.push_back({completed_rounds, std::move(file), std::move(share),
                   std::move(checksums)});
  return absl::OkStatus();
}

absl::Status CheckpointWriter::Flush(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !status_.ok() || (jobs_.empty() && writing_.empty());
  };
  if (!AwaitUntil(&mu_, absl::Condition(&idle), deadline)) {
    return absl::DeadlineExceededError("a checkpoint is still being written");
  }
  return status_;
}

void CheckpointWriter::Close(absl::Status reason) {
  absl::MutexLock lock(&mu_);
  if (status_.ok()) status_ = std::move(reason);
  jobs_.clear();
  leave_ = true;
}

void CheckpointWriter::Run() {
  while (true) {
    Job job;
    {
      absl::MutexLock lock(&mu_);
      const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
        return leave_ || !jobs_.empty();
      };
      mu_.Await(absl::Condition(&has_work));
      if (leave_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
      writing_ = job.file;
    }
    // A discarded checkpoint gets no more files, because its folder is gone.
    absl::StatusOr<std::vector<CheckpointFile>> files =
        std::vector<CheckpointFile>();
    if (!given_up_.contains(job.completed_rounds)) files = WritePatiently(job);
    if (!files.ok()) {
      given_up_.insert(job.completed_rounds);
      written_.erase(job.completed_rounds);
    }
    if (!files.ok() || !files->empty()) {
      report_(ReportOf(job.completed_rounds, files));
    }
    job = {};  // frees its memory
    absl::MutexLock lock(&mu_);
    writing_.clear();
  }
}

absl::StatusOr<std::vector<CheckpointFile>> CheckpointWriter::WritePatiently(
    const Job& job) {
  std::optional<absl::Time> give_up;
  while (true) {
    auto files = Write(job);
    const bool may_recover = DiskMayRecover(files.status()) ||
                             absl::IsUnavailable(files.status());  // no mount
    if (!may_recover || options_.is_last == nullptr ||
        !options_.is_last(job.completed_rounds)) {
      return files;
    }
    if (!give_up.has_value()) {
      give_up = MonotonicNow() + options_.patience;
      GANDEM_LOG_WARN(
          "the last checkpoint, after {} rounds, cannot be written: {}. Trying "
          "again for {} (control.grace_seconds)",
          job.completed_rounds, files.status(),
          absl::FormatDuration(options_.patience));
    }
    if (!WaitToRetry(*give_up)) return files;
  }
}

bool CheckpointWriter::WaitToRetry(absl::Time give_up) {
  absl::MutexLock lock(&mu_);
  AwaitUntil(&mu_, absl::Condition(&leave_),
             std::min(give_up, MonotonicNow() + options_.retry_interval));
  return !leave_ && MonotonicNow() < give_up;
}

absl::Status CheckpointWriter::AppendChecked(const Job& job, size_t index,
                                             FileWriter& writer) {
  GANDEM_ASSIGN_OR_RETURN(const uint32_t crc,
                          job.share->AppendTo(writer, index));
  const std::string& name = job.share->tensors()[index].name;
  const auto checksum = job.checksums.find(name);
  if (checksum == job.checksums.end() ||
      checksum->second == ChecksumText(crc)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "'", name, "' has changed while it was saved: a memory is at fault"));
}

absl::StatusOr<std::vector<CheckpointFile>> CheckpointWriter::Write(
    const Job& job) {
  const TraceSpan span("write checkpoint", {"rounds", job.completed_rounds});
  const std::string name =
      PendingCheckpointName(job.completed_rounds, options_.run_epoch);
  GANDEM_RETURN_IF_ERROR(RunFolder(options_.run_dir).Create(name));
  const std::string folder = absl::StrCat(options_.run_dir, "/", name);
  GANDEM_FAILPOINT("checkpoint.before_shard");
  GANDEM_ASSIGN_OR_RETURN(
      const FileSummary summary,
      WriteSafetensors(folder + "/" + job.file, job.share->tensors(),
                       job.checksums, [&job](size_t index, FileWriter& writer) {
                         return AppendChecked(job, index, writer);
                       }));
  GANDEM_FAILPOINT("checkpoint.after_shard");
  // Copied because the shard is written again after a failure below.
  std::vector<CheckpointFile> files = written_[job.completed_rounds];
  files.push_back(Describe(job.file, summary.size, summary.crc32c));
  if (!job.checksums.empty()) {
    files.back().set_state_crc32c(StateChecksum(job.checksums));
  }
  if (static_cast<int>(files.size()) < options_.files_per_checkpoint) {
    written_[job.completed_rounds] = std::move(files);
    return std::vector<CheckpointFile>();
  }
  if (!options_.config_text.empty()) {
    const std::string config = "config.textproto";
    GANDEM_RETURN_IF_ERROR(
        WriteFileDurably(folder + "/" + config, options_.config_text));
    files.push_back(Describe(config,
                             static_cast<int64_t>(options_.config_text.size()),
                             TextCrc32c(options_.config_text)));
  }
  written_.erase(job.completed_rounds);
  return files;
}

}  // namespace gandem
