// SPDX-License-Identifier: Apache-2.0
#include "common/stalls/exit_deadline.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

#include "common/monotonic_time.h"

namespace gandem {

void SayWithoutWaiting(absl::string_view text) {
  // Avoids shared locks, buffers and pipes without a reader, which may block.
  pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&room, 1, /*timeout=*/0) != 1) return;
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);  // no channel is left for an error
}

ExitDeadline::~ExitDeadline() {
  absl::MutexLock lock(&mu_);
  is_gone_ = has_news_ = true;
}

void ExitDeadline::Set(absl::Duration time, int exit_code,
                       std::string last_words) {
  absl::MutexLock lock(&mu_);
  const absl::Time deadline = MonotonicNow() + time;
  if (deadline >= deadline_) return;
  const bool is_first = deadline_ == absl::InfiniteFuture();
  deadline_ = deadline;
  exit_code_ = exit_code;
  last_words_ = std::move(last_words) + "\n";
  has_news_ = true;
  if (is_first) thread_ = Thread("exit", [this] { Run(); });
}

void ExitDeadline::Run() {
  absl::MutexLock lock(&mu_);
  while (AwaitUntil(&mu_, absl::Condition(&has_news_), deadline_)) {
    if (is_gone_) return;
    has_news_ = false;
  }
  SayWithoutWaiting(last_words_);
  _exit(exit_code_);
}

}  // namespace gandem
