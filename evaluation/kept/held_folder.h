// SPDX-License-Identifier: Apache-2.0
//
// Folders that several jobs share and that no job removes while another one
// uses it: features that the next evaluation uses again, and the checkpoint
// that an evaluation has kept from being pruned.
//
//   PARENT/KEY/...    what the job keeps there
//   PARENT/KEY/used   its lock, which a job shares with others on the same
//                     folder; last written when it was last used
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

class HeldFolder {
 public:
  // Creates PARENT/KEY or finds it, and marks it as used now.
  //   UNAVAILABLE  another job has been removing it for a minute.
  static absl::StatusOr<HeldFolder> Hold(const std::string& parent,
                                         const std::string& key);
  HeldFolder(HeldFolder&& other) noexcept;
  HeldFolder& operator=(HeldFolder&& other) noexcept;
  // Lets go of the folder; what it holds stays.
  ~HeldFolder();

  const std::string& path() const { return path_; }

  // Lets go of the folder and removes it, unless another job holds it.
  absl::Status Remove();

 private:
  HeldFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // of the lock; -1: moved from, or let go
};

// Removes the folders of `parent` that were not used for longest until the
// others have `max_bytes` or fewer together. Those that are held stay.
absl::Status TrimFolders(const std::string& parent, int64_t max_bytes);

}  // namespace gandem
