// SPDX-License-Identifier: Apache-2.0
//
// All that is remote in a process: one pool of connections, one budget of
// retries, one cache of blocks in memory and one on disk.
//
// Owner: the process (ProcessRemoteStore), or a test; outlives its files.
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

// Limits on the time for tries.
struct RemoteTimes {
  HttpLimits http = {};
  absl::Duration open = absl::Seconds(30);
  // Limit for each block: a shorter outage costs only time.
  absl::Duration read = absl::Minutes(2);
};

// Blocks by the name of their file and version, and by their number.
using BlockCache = SharedCache<std::pair<std::string, int64_t>, PagedString>;

class RemoteStore {
 public:
  explicit RemoteStore(RemoteTimes times = {});

  // Before files are opened; at any time, for those that come. Blocks that are
  // kept stay where there is room.
  void SetCaches(const RemoteCaches& caches);

  // Errors of remote_file.h. Who opens a file again gets the same one, until it
  // was found changed.
  absl::StatusOr<std::shared_ptr<const RandomAccessFile>> Open(
      absl::string_view url);
  // Makes Open ask for the file again.
  void Forget(const Url& url);

  // The objects of S3 whose keys begin with that of `url`, in no order;
  // `most` (0: all) is enough. INVALID_ARGUMENT for another scheme: HTTP has no
  // lists.
  absl::StatusOr<std::vector<S3Object>> List(const Url& url, size_t most);

  // Parts for remote_file.h.
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

// Lives forever.
RemoteStore& ProcessRemoteStore();

}  // namespace gandem
