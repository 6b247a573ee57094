// SPDX-License-Identifier: Apache-2.0
//
// Only one `gandem train` works on a run folder at a time, and one `gandem
// watch-eval`. The lock goes with the process, however it ends.
//
// Owner: the command, while it runs. Thread safety: one thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

class RunLock {
 public:
  // Takes run_dir/state/lock.
  //   ALREADY_EXISTS  another process holds it; the message names it.
  //   the file's error  the folder cannot be written.
  static absl::StatusOr<RunLock> Take(const std::string& run_dir);
  // Takes run_dir/state/watch-eval.lock. Errors: the same.
  static absl::StatusOr<RunLock> TakeForWatch(const std::string& run_dir);
  // Does another process hold it?
  static bool IsTaken(const std::string& run_dir);

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) = delete;
  ~RunLock();

 private:
  explicit RunLock(int fd) : fd_(fd) {}
  static absl::StatusOr<RunLock> TakeFile(const std::string& run_dir,
                                          const std::string& path,
                                          absl::string_view command,
                                          absl::string_view advice);
  int fd_;
};

}  // namespace gandem
