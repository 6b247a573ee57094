// SPDX-License-Identifier: Apache-2.0
//
// Disk cache of blocks of remote files, shared by all processes of a host and
// by later runs: data.cache_dir. Each block is a file with a CRC32C, written
// under a temporary name and renamed. The least recently used blocks are
// evicted. Files in the folder may be deleted at any time.
//
// The cache never fails a read: unreadable blocks are fetched again. If writing
// fails (disk full), the cache becomes read-only, with one warning.
//
// Owner: a RemoteStore. Thread safety: any thread, any process.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/memory/page_allocator.h"

namespace gandem {

class DiskCache {
 public:
  // The folder is created with the first block.
  DiskCache(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Returns the block if it is cached, intact and `bytes` bytes long. `name`
  // has at least three characters that are valid in file names.
  std::optional<PagedString> Read(const std::string& name, int64_t bytes);

  void Write(const std::string& name, absl::string_view block);

  bool writable() const { return !off_.load(); }

 private:
  std::string PathOf(const std::string& name) const;
  absl::Status WriteBlock(const std::string& path, absl::string_view block);
  // Evicts blocks beyond the limit, unless another process is doing so.
  void Trim();

  const std::string folder_;
  const int64_t max_bytes_;
  std::atomic<bool> off_ = false;
  std::atomic<bool> damaged_ = false;  // a damaged block was reported
  absl::Mutex mu_;
  // Bytes written since the folder was last scanned; nullopt: never scanned.
  std::optional<int64_t> written_bytes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
