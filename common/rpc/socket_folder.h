// SPDX-License-Identifier: Apache-2.0
//
// A folder for this process's unix sockets. Their paths are limited to 107
// bytes, so they do not stand in the run folder but in
// $TMPDIR/gandem-sockets-XXXXXX, or in /tmp where $TMPDIR is too long. Only the
// same user can connect: its mode is 0700.
//
// The process holds a lock (flock) on the folder. A process that is killed
// leaves its folder behind without one: whoever creates the next folder there,
// or gives up one, removes folders of the same user whose lock is free.
//
// Owner: the process that listens; the folder goes with the object.
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
  // The system's error when no folder can be made.
  static absl::StatusOr<std::unique_ptr<SocketFolder>> Create();
  // Removes abandoned folders as Create() does, for a process without a folder
  // of its own.
  static void RemoveAbandoned();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  ~SocketFolder();

  const std::string& path() const { return path_; }
  // "unix:<path>/<name>"; `name` has at most 32 bytes.
  std::string AddressOf(absl::string_view name) const;

 private:
  SocketFolder(std::string path, int lock)
      : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  int lock_;  // -1: the file system has no locks
};

}  // namespace gandem
