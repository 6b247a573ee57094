// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker_pool.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "pipeline/unreadable.h"

namespace gandem {
namespace {

constexpr int64_t kNoRowGroup = -1;  // what precedes all of them

// "row group 3 of 'train.parquet'"
std::string PlaceText(const ShardFile& shard, int64_t row_group) {
  const std::string name = absl::StrCat("'", shard.file->name(), "'");
  return row_group == kNoRowGroup
             ? name
             : absl::StrCat("row group ", row_group, " of ", name);
}

// "was killed by signal 11 (Segmentation fault)"
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
  GANDEM_ASSIGN_OR_RETURN(const std::string program, DataWorkerProgram());
  DataWorker worker;
  GANDEM_ASSIGN_OR_RETURN(worker.process, DataWorkerProcess::Start(program));
  worker.client = std::make_unique<DataWorkerClient>(
      worker.process->TakeSocket(), kDataWorkerPatience);
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

// Waits for others whose requests come to an end: data_worker by its patience,
// files by deadlines of their own.
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
    // An idle one may have died long ago, a new one has not.
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
  // Of a machine without memory as well: no list of images to leave out.
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
