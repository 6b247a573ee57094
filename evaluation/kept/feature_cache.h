// SPDX-License-Identifier: Apache-2.0
//
// Features that the next evaluation uses again: a folder for each set of images
// and network, and a bound for all of them together. Folders of jobs that run
// are never removed.
//
//   CACHE/KEY/features-...   what the job keeps there
//   CACHE/KEY/used           its lock, which a job shares with others on the
//                            same folder; last written when it was last used
//
// Owner: the job. The lock goes with the process, however it ends.
// Thread safety: one thread. Errors: those of common/files/file.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

class CachedFolder {
 public:
  // Creates CACHE/KEY or finds it, and marks it as used now.
  //   UNAVAILABLE  another job has been removing it for a minute.
  static absl::StatusOr<CachedFolder> Hold(const std::string& cache,
                                           const std::string& key);
  CachedFolder(CachedFolder&& other) noexcept;
  CachedFolder& operator=(CachedFolder&& other) noexcept;
  // Lets go of the folder; what it holds stays.
  ~CachedFolder();

  const std::string& path() const { return path_; }

 private:
  CachedFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // of the lock; -1: moved from
};

// Removes the folders that were not used for longest until the others have
// `max_bytes` or fewer together. Those that are held stay, whatever they have.
absl::Status TrimFeatureCache(const std::string& cache, int64_t max_bytes);

}  // namespace gandem
