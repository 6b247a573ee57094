// SPDX-License-Identifier: Apache-2.0
//
// Ends a command whose file system does not answer, because the thread that
// waits cannot: the call (file_wait.h) never returns.
//
//   const FilePatience patience("gandem status");
//
// While it exists, a call of the thread that made it that lasts for half of the
// limit is named on standard error, again and again:
//
//   gandem status: waiting for /mnt/runs/a since 5 s
//
// At the limit the process ends with the exit code of DEADLINE_EXCEEDED, 75. A
// process that was stopped (SIGSTOP) did not wait meanwhile.
//
// Owner: the command. Thread safety: made and destroyed by one thread.
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
  // As long as a look at data.source may take.
  static constexpr absl::Duration kLimit = absl::Seconds(10);

  // `command` begins the messages.
  explicit FilePatience(std::string command, absl::Duration limit = kLimit);
  FilePatience(const FilePatience&) = delete;
  FilePatience& operator=(const FilePatience&) = delete;
  ~FilePatience();

 private:
  void Begin(absl::string_view path, int patience) override;
  void End() override;
  void Run();
  // Speaks, or ends the process, after so many looks at one call.
  void Judge(int looks) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const std::string command_;
  const absl::Duration limit_;
  FileWait::Watcher* const outer_;

  absl::Mutex mu_;
  bool is_gone_ ABSL_GUARDED_BY(mu_) = false;
  int64_t num_calls_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_waiting_ ABSL_GUARDED_BY(mu_) = false;  // in the last of these calls
  std::string path_ ABSL_GUARDED_BY(mu_);
  int patience_ ABSL_GUARDED_BY(mu_) = 1;
  Thread thread_;  // last: joins before the rest goes
};

}  // namespace gandem
