// SPDX-License-Identifier: Apache-2.0
//
// Stop requests of the user, sent as signals. The first signal asks the run to
// stop at a checkpoint, a second Ctrl-C ends it at once. Wrappers such as
// `timeout -s INT` often pass one Ctrl-C on twice, to the process and to its
// group, so a repetition within kSameWish does not count.
//
// Owner: the command. Thread safety: any thread.
#pragma once

#include <signal.h>

#include <algorithm>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/monotonic_time.h"

namespace gandem {

class UserWishes {
 public:
  static constexpr absl::Duration kSameWish = absl::Seconds(1);

  void OnSignal(int signal) { OnSignal(signal, MonotonicNow()); }
  void OnSignal(int signal, absl::Time now) {
    absl::MutexLock lock(&mu_);
    if (signal == SIGINT) {
      interrupted_at_ = std::min(interrupted_at_, now);
      at_once_ = at_once_ || now - interrupted_at_ >= kSameWish;
    }
    if (stop_reason_.empty()) {
      stop_reason_ = signal == SIGINT
                         ? "stopped by Ctrl-C"
                         : absl::StrCat("stopped by signal ", signal);
      news_ = true;
    }
    news_ = news_ || at_once_;
  }
  // Waits for a signal, at most until `deadline`.
  void Wait(absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    AwaitUntil(&mu_, absl::Condition(&news_), deadline);
    news_ = false;
  }
  // Returns "" if there is no request to stop.
  std::string stop_reason() {
    absl::MutexLock lock(&mu_);
    return stop_reason_;
  }
  bool interrupted() {
    absl::MutexLock lock(&mu_);
    return interrupted_at_ != absl::InfiniteFuture();
  }
  bool at_once() {
    absl::MutexLock lock(&mu_);
    return at_once_;
  }

 private:
  absl::Mutex mu_;
  bool news_ ABSL_GUARDED_BY(mu_) = false;
  // Time of the first Ctrl-C; infinite future if there was none.
  absl::Time interrupted_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  bool at_once_ ABSL_GUARDED_BY(mu_) = false;
  std::string stop_reason_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
