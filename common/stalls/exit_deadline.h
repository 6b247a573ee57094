// SPDX-License-Identifier: Apache-2.0
//
// Latest time at which the process exits, even if threads are blocked, for
// example by a disk that does not answer.
//
// Owner: the command, after all that may block. Thread safety: any thread.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/thread.h"

namespace gandem {

// Writes to standard error, or drops `text` if the write would block.
void SayWithoutWaiting(absl::string_view text);

class ExitDeadline {
 public:
  ExitDeadline() = default;
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;
  ~ExitDeadline();

  // Makes the process exit with `exit_code` if this object still exists after
  // `time`, after writing `last_words` and a newline to standard error. The
  // earliest deadline of several calls wins.
  void Set(absl::Duration time, int exit_code, std::string last_words);

 private:
  void Run();

  absl::Mutex mu_;
  bool has_news_ ABSL_GUARDED_BY(mu_) = false;
  bool is_gone_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time deadline_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  int exit_code_ ABSL_GUARDED_BY(mu_) = 0;
  std::string last_words_ ABSL_GUARDED_BY(mu_);
  Thread thread_;  // last: joined before the other members are destroyed
};

}  // namespace gandem
