// SPDX-License-Identifier: Apache-2.0
//
// Only one `gandem train` works on a run folder at a time, and one `gandem
// watch-eval`. The lock goes with the process, however it ends.
//
// A training locks a file, which tells who it is and whose state others can
// read without taking it, and the run folder itself: whoever removes the file
// (`rm -r state`) lets nobody in.
//
// Owner: the command, while it runs. Thread safety: one thread.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

class RunLock {
 public:
  // Takes run_dir/state/lock and run_dir.
  //   ALREADY_EXISTS  another process holds it; the message names it.
  //   the file's error  the folder cannot be written.
  static absl::StatusOr<RunLock> Take(const std::string& run_dir);
  // Takes run_dir/state/watch-eval.lock. Errors: the same.
  static absl::StatusOr<RunLock> TakeForWatch(const std::string& run_dir);
  // Does another process, or object, hold what Take() takes? Only looks: a
  // training that starts at this moment gets it.
  static bool IsTaken(const std::string& run_dir);
  // "process 12 on host", who took it last; may be empty.
  static std::string Holder(const std::string& run_dir);

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) = delete;
  ~RunLock();

  // Makes the file again if it was removed. Errors: those of Take().
  //   FAILED_PRECONDITION  the folder was moved, and its name is another's now.
  absl::Status Mend();

 private:
  RunLock(std::string path, int file, int folder)
      : path_(std::move(path)), file_(file), folder_(folder) {}
  static absl::StatusOr<RunLock> TakeFile(const std::string& run_dir,
                                          const std::string& path,
                                          absl::string_view command,
                                          absl::string_view advice);

  std::string path_;  // of the file
  int file_;
  int folder_;  // -1: not locked
};

}  // namespace gandem
