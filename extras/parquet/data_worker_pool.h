// SPDX-License-Identifier: Apache-2.0
//
// The data_workers of a data set: one per concurrent request, up to a limit,
// started on demand. A worker that dies, hangs or sends an invalid answer is
// replaced, and the request is repeated once.
//
// Owner: the data set. Thread safety: any thread.
// Errors: those of DataWorkerClient, with the file's name, and
//   DATA_LOSS  two data_workers failed at the same request; names the failure,
//              the file and the row group.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "extras/parquet/data_worker_client.h"

namespace gandem {

inline constexpr int kMostDataWorkers = 4;
// Time limit for data_worker to send something. Chosen: the largest row group
// takes seconds.
inline constexpr absl::Duration kDataWorkerPatience = absl::Minutes(2);

class DataWorkerProcess;

struct DataWorker {
  // Kills the process when destroyed. Null if a test plays the worker.
  std::shared_ptr<DataWorkerProcess> process = nullptr;
  std::unique_ptr<DataWorkerClient> client = nullptr;
};

// Starts the program data_worker from the folder of the running program.
absl::StatusOr<DataWorker> StartDataWorker();

class DataWorkerPool {
 public:
  using Starter = std::function<absl::StatusOr<DataWorker>()>;

  explicit DataWorkerPool(Starter start = StartDataWorker)
      : start_(std::move(start)) {}

  absl::StatusOr<OpenedShard> Open(const ShardFile& shard);
  absl::StatusOr<RowGroupImages> Read(const ShardFile& shard, int64_t row_group,
                                      int64_t rows);

 private:
  using Use = absl::FunctionRef<absl::Status(DataWorkerClient& client)>;

  // `row_group` is only for messages.
  absl::Status Ask(const ShardFile& shard, int64_t row_group, Use use);
  absl::Status AskWithPlace(const ShardFile& shard, int64_t row_group, Use use);
  bool HasPlace() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return busy_ < kMostDataWorkers;
  }
  absl::StatusOr<DataWorker> TakeIdle();

  const Starter start_;  // never changes after construction
  absl::Mutex mu_;
  int busy_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<DataWorker> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
