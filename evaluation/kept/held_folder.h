// SPDX-License-Identifier: Apache-2.0
//
// Folders that several jobs share and that no job removes while another one
// uses them: cached features, and the checkpoint that an evaluation keeps from
// being pruned.
//
//   PARENT/KEY/...    what the job keeps there
//   PARENT/KEY/used   lock file, which the folder's jobs share; its time is
//                     that of the folder's last use
//
// Owner: the job. The lock ends with the process.
// Thread safety: one thread. Errors: those of common/files/file.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

class HeldFolder {
 public:
  // Creates PARENT/KEY or finds it, and marks it as used now.
  //   UNAVAILABLE  another job has been removing it for a minute.
  static absl::StatusOr<HeldFolder> Hold(const std::string& parent,
                                         const std::string& key);
  HeldFolder(HeldFolder&& other) noexcept;
  HeldFolder& operator=(HeldFolder&& other) noexcept;
  // Releases the folder, which stays.
  ~HeldFolder();

  const std::string& path() const { return path_; }

  // Releases the folder and removes it, unless another job holds it.
  absl::Status Remove();

 private:
  HeldFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // lock; -1: moved from or released
};

// Removes the least recently used folders of `parent` until the others have at
// most `max_bytes` together. Held folders stay.
absl::Status TrimFolders(const std::string& parent, int64_t max_bytes);

}  // namespace gandem
