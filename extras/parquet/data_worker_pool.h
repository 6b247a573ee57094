// SPDX-License-Identifier: Apache-2.0
//
// The data_workers of a data set: as many as are asked at the same time, up to
// a limit, started when they are needed. One that dies, hangs or answers
// nonsense is replaced, and the request made once more.
//
// Owner: the data set. Thread safety: any thread.
// Errors: those of DataWorkerClient, with the file's name, and
//   DATA_LOSS  two data_workers broke at the same request; says how, and of
//              which file and row group.
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
// How long one may compute between two signs of life. The largest row group
// takes seconds.
inline constexpr absl::Duration kDataWorkerPatience = absl::Minutes(2);

class DataWorkerProcess;

struct DataWorker {
  // Ends with it. Null: a peer of a test.
  std::shared_ptr<DataWorkerProcess> process = nullptr;
  std::unique_ptr<DataWorkerClient> client = nullptr;
};

// Starts the program beside the running one.
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

  // `row_group` is for messages.
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
