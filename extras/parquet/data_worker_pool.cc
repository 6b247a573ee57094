// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker_pool.h"

#include <sys/socket.h>

#include <cerrno>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/child_process.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "pipeline/unreadable.h"

namespace gandem {
namespace {

constexpr int64_t kNoRowGroup = -1;  // opening a shard, not reading a group

// Time limit for a process to end after its socket is closed.
constexpr absl::Duration kTimeToEnd = absl::Seconds(2);

}  // namespace

// A running data_worker, whose standard input is the socket. The kernel kills
// it when the thread that started it ends, so a dedicated thread starts it.
// Thus data_worker outlives neither gandem nor this object.
class DataWorkerProcess {
 public:
  explicit DataWorkerProcess(std::string program)
      : program_(std::move(program)) {}
  ~DataWorkerProcess() {
    if (!stop_.HasBeenNotified()) stop_.Notify();
  }

  // Returns gandem's end of the socket. Call it once.
  absl::StatusOr<OwnedFd> Start() {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return FileError(errno, "cannot make a socket for", program_);
    }
    OwnedFd ours(ends[0]);
    keeper_ =
        Thread("data worker", [this, theirs = OwnedFd(ends[1])]() mutable {
          Keep(std::move(theirs));
        });
    started_.WaitForNotification();  // ChildProcess has a deadline
    if (start_.ok()) return ours;
    return Annotate(start_,
                    "Parquet is read by data_worker, which lies beside gandem");
  }

  // Waits up to kTimeToEnd, then kills the process. Returns a text such as "was
  // killed by signal 11 (Segmentation fault)". Call it once.
  std::string HowItEnded() {
    may_end_alone_ = true;
    stop_.Notify();
    keeper_.Join();
    return end_;
  }

 private:
  void Keep(OwnedFd theirs) {
    absl::StatusOr<ChildProcess> child = ChildProcess::Start(
        {.arguments = {program_}, .input_fd = theirs.get()});
    theirs = OwnedFd();
    start_ = child.status();
    started_.Notify();
    if (!child.ok()) return;
    stop_.WaitForNotification();  // by the destructor at the latest
    if (!may_end_alone_) return;
    const auto end = child->AwaitEnd(MonotonicNow() + kTimeToEnd);
    if (end.ok()) end_ = end->description;
  }

  const std::string program_;
  // Each notification publishes the member that precedes it.
  absl::Status start_;
  absl::Notification started_;
  bool may_end_alone_ = false;
  absl::Notification stop_;
  std::string end_ = "did not end by itself";  // read after the thread's end
  Thread keeper_;                              // last: uses all of the above
};

namespace {

// "row group 3 of 'train.parquet'"
std::string PlaceText(const ShardFile& shard, int64_t row_group) {
  const std::string name = absl::StrCat("'", shard.file->name(), "'");
  return row_group == kNoRowGroup
             ? name
             : absl::StrCat("row group ", row_group, " of ", name);
}

std::string WhatBroke(const absl::Status& status, DataWorker& worker) {
  if (absl::IsDeadlineExceeded(status)) {
    return absl::StrCat("did not answer for ",
                        absl::FormatDuration(kDataWorkerPatience));
  }
  if (!absl::IsUnavailable(status)) {
    return absl::StrCat("failed (", status.message(), ")");
  }
  return worker.process == nullptr ? "ended" : worker.process->HowItEnded();
}

}  // namespace

absl::StatusOr<DataWorker> StartDataWorker() {
  GANDEM_ASSIGN_OR_RETURN(const std::string folder, BinaryFolder());
  DataWorker worker;
  worker.process = std::make_shared<DataWorkerProcess>(folder + "/data_worker");
  GANDEM_ASSIGN_OR_RETURN(OwnedFd socket, worker.process->Start());
  worker.client = std::make_unique<DataWorkerClient>(
      FrameSocket(std::move(socket), kDataWorkerPatience));
  return worker;
}

absl::StatusOr<OpenedShard> DataWorkerPool::Open(const ShardFile& shard) {
  OpenedShard opened;
  GANDEM_RETURN_IF_ERROR(
      Ask(shard, kNoRowGroup, [&](DataWorkerClient& client) -> absl::Status {
        GANDEM_ASSIGN_OR_RETURN(opened, client.Open(shard));
        return absl::OkStatus();
      }));
  return opened;
}

absl::StatusOr<RowGroupImages> DataWorkerPool::Read(const ShardFile& shard,
                                                    int64_t row_group,
                                                    int64_t rows) {
  std::optional<RowGroupImages> images;
  GANDEM_RETURN_IF_ERROR(
      Ask(shard, row_group, [&](DataWorkerClient& client) -> absl::Status {
        GANDEM_ASSIGN_OR_RETURN(RowGroupImages read,
                                client.Read(shard, row_group, rows));
        images.emplace(std::move(read));
        return absl::OkStatus();
      }));
  return *std::move(images);
}

// The wait for a free place is finite, because all requests end: data_worker
// has kDataWorkerPatience, and reads of files have deadlines.
absl::Status DataWorkerPool::Ask(const ShardFile& shard, int64_t row_group,
                                 Use use) {
  {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(this, &DataWorkerPool::HasPlace));
    ++busy_;
  }
  const absl::Status asked = AskWithPlace(shard, row_group, use);
  absl::MutexLock lock(&mu_);
  --busy_;
  return asked;
}

absl::Status DataWorkerPool::AskWithPlace(const ShardFile& shard,
                                          int64_t row_group, Use use) {
  std::string broke;
  for (const bool is_first : {true, false}) {
    // An idle worker may have died long ago, so the second try is a new one.
    GANDEM_ASSIGN_OR_RETURN(DataWorker worker,
                            is_first ? TakeIdle() : start_());
    const absl::Status used = use(*worker.client);
    if (worker.client->broken()) {
      broke = WhatBroke(used, worker);
      continue;
    }
    absl::MutexLock lock(&mu_);
    idle_.push_back(std::move(worker));
    if (used.ok()) return used;
    return Annotate(used, PlaceText(shard, row_group));
  }
  // The machine may also be out of memory, so this error does not mark an image
  // as bad.
  return NotOfContent(absl::DataLossError(absl::StrCat(
      "data_worker ", broke, " while it read ", PlaceText(shard, row_group),
      ", and a second one before it: is the file damaged?")));
}

absl::StatusOr<DataWorker> DataWorkerPool::TakeIdle() {
  {
    absl::MutexLock lock(&mu_);
    if (!idle_.empty()) {
      DataWorker worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return start_();
}

}  // namespace gandem
