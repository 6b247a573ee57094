// SPDX-License-Identifier: Apache-2.0
//
// Marks a call into a file system. Such a call may never return: a mount whose
// server is gone holds the thread, and nothing but the end of the process frees
// it. Whoever watches the thread (common/stalls/file_patience.h) learns which
// path it waits for:
//
//   const FileWait wait(path);
//   const int fd = open(path.c_str(), flags);
//
// Owner: the function that calls; keeps errno. Thread safety: a mark and the
// watcher belong to one thread. A mark within another one does nothing.
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

  // A sync waits for all that others have written, too.
  static constexpr int kSyncPatience = 6;

  // `patience`: how many times as long as another call this one may take.
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

  // From now on `watcher` watches the calling thread; null: nobody does.
  // Returns the watcher before.
  static Watcher* Watch(Watcher* watcher) {
    return std::exchange(watcher_of_thread_, watcher);
  }

 private:
  inline static thread_local Watcher* watcher_of_thread_ = nullptr;
  Watcher* const watcher_;
};

}  // namespace gandem
