// SPDX-License-Identifier: Apache-2.0
//
// Only one `gandem profile` writes a file at a time: of two, either would
// measure the other's load, and the last one to write would win. The lock is a
// file beside the profile, is gone with the process, however it ends, and the
// file goes with the command.
//
// Owner: the command, while it measures. Thread safety: one thread.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace gandem {

class ProfileLock {
 public:
  // Takes profile + ".lock".
  //   ALREADY_EXISTS    another process holds it; the message names both.
  //   the file's error  its folder cannot be written.
  static absl::StatusOr<ProfileLock> Take(const std::string& profile);

  ProfileLock(ProfileLock&& other) noexcept
      : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  ProfileLock& operator=(ProfileLock&& other) = delete;
  // Removes the file.
  ~ProfileLock();

 private:
  ProfileLock(std::string path, int file)
      : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;
};

}  // namespace gandem
