// SPDX-License-Identifier: Apache-2.0
//
// A folder for this process's unix sockets. Socket paths are limited to 107
// bytes, so the folder is $TMPDIR/gandem-sockets-XXXXXX (in /tmp if $TMPDIR is
// too long) instead of the run folder. Its mode 0700 admits only the same user.
//
// The process holds a lock (flock) on the folder. A killed process leaves an
// unlocked folder; processes of the same user remove such folders when they
// create or remove their own.
//
// Owner: the process that listens; the destructor removes the folder.
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

class SocketFolder {
 public:
  // Returns the system's error if no folder can be created.
  static absl::StatusOr<std::unique_ptr<SocketFolder>> Create();
  // Removes abandoned folders, for a process without its own folder.
  static void RemoveAbandoned();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  ~SocketFolder();

  const std::string& path() const { return path_; }
  // Returns "unix:<path>/<name>"; `name` has at most 32 bytes.
  std::string AddressOf(absl::string_view name) const;

 private:
  SocketFolder(std::string path, int lock)
      : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  int lock_;  // -1: the file system has no locks
};

}  // namespace gandem
