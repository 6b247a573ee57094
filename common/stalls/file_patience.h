// SPDX-License-Identifier: Apache-2.0
//
// Ends a command whose file system does not answer. The waiting thread cannot
// do so, because its call (file_wait.h) never returns.
//
//   const FilePatience patience("gandem status");
//
// While the object exists, file system calls of its thread that last for half
// of the limit are reported on standard error repeatedly:
//
//   gandem status: waiting for /mnt/runs/a since 5 s
//
// At the limit the process exits with the exit code of DEADLINE_EXCEEDED, 75.
// Time in which the process was stopped (SIGSTOP) does not count.
//
// Owner: the command. Thread safety: created and destroyed by one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/file_wait.h"
#include "common/process/thread.h"

namespace gandem {

class FilePatience : private FileWait::Watcher {
 public:
  // Equal to the time limit for a check of data.source.
  static constexpr absl::Duration kLimit = absl::Seconds(10);

  // Messages begin with `command`.
  explicit FilePatience(std::string command, absl::Duration limit = kLimit);
  FilePatience(const FilePatience&) = delete;
  FilePatience& operator=(const FilePatience&) = delete;
  ~FilePatience();

 private:
  void Begin(absl::string_view path, int patience) override;
  void End() override;
  void Run();
  // Prints a message or ends the process after `looks` checks of one call.
  void Judge(int looks) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const std::string command_;
  const absl::Duration limit_;
  FileWait::Watcher* const outer_;

  absl::Mutex mu_;
  bool is_gone_ ABSL_GUARDED_BY(mu_) = false;
  int64_t num_calls_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_waiting_ ABSL_GUARDED_BY(mu_) = false;  // in the last call
  std::string path_ ABSL_GUARDED_BY(mu_);
  int patience_ ABSL_GUARDED_BY(mu_) = 1;
  Thread thread_;  // last: joined before the other members are destroyed
};

}  // namespace gandem
