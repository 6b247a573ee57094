// SPDX-License-Identifier: Apache-2.0
//
// The latest moment at which the process ends, whatever its threads wait for: a
// disk that does not answer holds them as long as it likes.
//
// Owner: the command; it goes after whatever may be held up. Thread safety: any
// thread.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/thread.h"

namespace gandem {

// Writes to standard error, or drops `text` where that would wait.
void SayWithoutWaiting(absl::string_view text);

class ExitDeadline {
 public:
  ExitDeadline() = default;
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;
  ~ExitDeadline();

  // If this object is still there after `time`, the process writes `last_words`
  // and a newline to standard error and ends with `exit_code`. Of several calls
  // the one that ends it first counts.
  void Set(absl::Duration time, int exit_code, std::string last_words);

 private:
  void Run();

  absl::Mutex mu_;
  bool has_news_ ABSL_GUARDED_BY(mu_) = false;
  bool is_gone_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time deadline_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  int exit_code_ ABSL_GUARDED_BY(mu_) = 0;
  std::string last_words_ ABSL_GUARDED_BY(mu_);
  Thread thread_;  // last: joins before the rest goes
};

}  // namespace gandem
