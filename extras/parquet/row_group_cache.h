// SPDX-License-Identifier: Apache-2.0
//
// Row groups that were read lately, up to a number of bytes; who asks for one
// that is being read waits for it. What was not used for the longest time goes
// first; the last one stays, however large.
//
// Owner: the data set. Thread safety: any thread.
// Errors: those of reading; who waited for it gets them, too, and the next one
// reads again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "extras/parquet/data_worker_client.h"
#include "pipeline/give_way.h"

namespace gandem {

class RowGroupCache {
 public:
  using Images = std::shared_ptr<const RowGroupImages>;
  using Load = absl::FunctionRef<absl::StatusOr<RowGroupImages>()>;

  explicit RowGroupCache(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // `load` is called without a lock, where row group `key` is not there.
  // CANCELLED: gave way to the read that brings it (give_way.h).
  absl::StatusOr<Images> Get(int64_t key, Load load);

 private:
  struct Entry {
    ReadId reader = {};  // who reads it
    bool is_done = false;
    absl::Status status;
    Images images = nullptr;                 // once it is done
    std::list<int64_t>::iterator used = {};  // in used_, once it is done
  };

  void Keep(int64_t key, Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int64_t most_bytes_;  // never changes after construction
  absl::Mutex mu_;
  std::map<int64_t, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);
  // Keys of those that are done; what was used last comes first.
  std::list<int64_t> used_ ABSL_GUARDED_BY(mu_);
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace gandem
