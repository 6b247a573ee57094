// SPDX-License-Identifier: Apache-2.0
//
// Shared state of all remote access in a process: a connection pool, a retry
// budget, and block caches in memory and on disk.
//
// Owner: the process (ProcessRemoteStore) or a test; outlives its files.
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "pipeline/memory/page_allocator.h"
#include "pipeline/random_access_file.h"
#include "pipeline/remote/disk_cache.h"
#include "pipeline/remote/remote_reader.h"
#include "pipeline/remote/s3_answers.h"
#include "pipeline/remote/url.h"
#include "pipeline/shared_cache.h"

namespace gandem {

// Values of data.memory_bytes, data.cache_dir and data.cache_bytes.
struct RemoteCaches {
  int64_t block_bytes = int64_t{256} << 20;  // in memory
  std::string disk_folder = {};              // empty: none
  int64_t disk_bytes = 0;
};

struct RemoteTimes {
  HttpLimits http = {};
  absl::Duration open = absl::Seconds(30);
  // Limit per block. Shorter outages only delay the read.
  absl::Duration read = absl::Minutes(2);
};

// Blocks by file name and version, and block number.
using BlockCache = SharedCache<std::pair<std::string, int64_t>, PagedString>;

class RemoteStore {
 public:
  explicit RemoteStore(RemoteTimes times = {});

  // Applies to files opened later. Keeps cached blocks if there is room.
  void SetCaches(const RemoteCaches& caches);

  // Opens a file, or returns it again until it changes. Errors of
  // remote_file.h.
  absl::StatusOr<std::shared_ptr<const RandomAccessFile>> Open(
      absl::string_view url);
  // Makes the next Open request the file anew.
  void Forget(const Url& url);

  // Lists the S3 objects whose keys begin with the key of `url`, in any order.
  // Stops after `most` objects; 0: lists all. Returns INVALID_ARGUMENT for
  // other schemes, since HTTP has no lists.
  absl::StatusOr<std::vector<S3Object>> List(const Url& url, size_t most);

  RemoteReader& reader() { return reader_; }
  BlockCache& blocks() { return blocks_; }
  std::shared_ptr<DiskCache> disk() const;  // nullptr: none
  int64_t max_whole_bytes() const;
  const RemoteTimes& times() const { return times_; }

 private:
  const RemoteTimes times_;
  RemoteReader reader_;
  BlockCache blocks_;
  mutable absl::Mutex mu_;
  RemoteCaches caches_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<DiskCache> disk_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<const RandomAccessFile>> opened_
      ABSL_GUARDED_BY(mu_);
};

// Returns the process-wide store, which is never destroyed.
RemoteStore& ProcessRemoteStore();

}  // namespace gandem
