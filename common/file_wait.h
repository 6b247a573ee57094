// SPDX-License-Identifier: Apache-2.0
//
// Marks a call into a file system. Such a call may never return: a mount
// without its server blocks the thread until the process ends. The mark tells
// the thread's watcher (common/stalls/file_patience.h) the path:
//
//   const FileWait wait(path);
//   const int fd = open(path.c_str(), flags);
//
// Owner: the calling function; keeps errno. Thread safety: a mark and its
// watcher belong to one thread. Nested marks do nothing.
#pragma once

#include <cerrno>
#include <utility>

#include "absl/strings/string_view.h"

namespace gandem {

class FileWait {
 public:
  class Watcher {
   public:
    virtual void Begin(absl::string_view path, int patience) = 0;
    virtual void End() = 0;

   protected:
    ~Watcher() = default;
  };

  // A sync also waits for writes of other processes.
  static constexpr int kSyncPatience = 6;

  // `patience`: allowed time of the call as a multiple of a normal call.
  explicit FileWait(absl::string_view path, int patience = 1)
      : watcher_(std::exchange(watcher_of_thread_, nullptr)) {
    if (watcher_ != nullptr) watcher_->Begin(path, patience);
  }
  FileWait(const FileWait&) = delete;
  FileWait& operator=(const FileWait&) = delete;
  ~FileWait() {
    if (watcher_ == nullptr) return;
    const int error = errno;
    watcher_->End();
    watcher_of_thread_ = watcher_;
    errno = error;
  }

  // Sets this thread's watcher (null: none). Returns the previous one.
  static Watcher* Watch(Watcher* watcher) {
    return std::exchange(watcher_of_thread_, watcher);
  }

 private:
  inline static thread_local Watcher* watcher_of_thread_ = nullptr;
  Watcher* const watcher_;
};

}  // namespace gandem
