// SPDX-License-Identifier: Apache-2.0
//
// Blocks of remote files in a folder, which processes of one host share, for
// the next epoch and the next run: data.cache_dir. Each is a file of its own
// with a CRC32C, written under another name and renamed. What was not used for
// the longest time is removed when there are too many bytes. Whoever uses the
// folder may remove anything in it at any time.
//
// Nothing here fails a read: what cannot be read is fetched again, and a folder
// that cannot be written to (a full disk) is only read from then on, with one
// warning.
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
  // The folder is made with the first block.
  DiskCache(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // The block of this name, if it is there, whole and of `bytes` bytes. `name`
  // has at least three characters, of file names.
  std::optional<PagedString> Read(const std::string& name, int64_t bytes);

  void Write(const std::string& name, absl::string_view block);

  bool writable() const { return !off_.load(); }

 private:
  std::string PathOf(const std::string& name) const;
  absl::Status WriteBlock(const std::string& path, absl::string_view block);
  // Removes blocks beyond the limit, unless another process does so now.
  void Trim();

  const std::string folder_;
  const int64_t max_bytes_;
  std::atomic<bool> off_ = false;
  std::atomic<bool> damaged_ = false;  // some block was, which was said
  absl::Mutex mu_;
  // Since this object looked how many there are; none: it never did.
  std::optional<int64_t> written_bytes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
