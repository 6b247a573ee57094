// SPDX-License-Identifier: Apache-2.0
//
// Where one evaluation keeps what it has computed until its card is written. A
// killed job's folder is found by the next job of the same key; a second job of
// the same key that runs at the same time gets another folder, so neither
// disturbs the other.
//
// Owner: the job, which holds the folder's lock. The lock goes with the
// process, however it ends. Thread safety: one thread.
// Errors: those of common/files/file.h.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

class WorkFolder {
 public:
  // PARENT/KEY, or PARENT/KEY.2 and so on where that is taken.
  static absl::StatusOr<WorkFolder> Take(const std::string& parent,
                                         const std::string& key);
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  // Lets go of the folder; what it holds stays.
  ~WorkFolder();

  const std::string& path() const { return path_; }

  // Removes the folder: its card is written.
  absl::Status Remove();

 private:
  WorkFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // of the lock; -1: moved from
};

}  // namespace gandem
