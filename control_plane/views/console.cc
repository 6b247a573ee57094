// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/console.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"

namespace gandem {
namespace {

constexpr absl::Duration kTerminalInterval = absl::Milliseconds(200);
constexpr absl::Duration kLineInterval = absl::Seconds(5);
// Time that a slow reader gets at the end.
constexpr absl::Duration kLastWait = absl::Seconds(5);
constexpr int kUsualColumns = 80;
constexpr char kClearLine[] = "\r\x1b[K";

// Reopens terminals and pipes, because O_NONBLOCK on `fd` itself would affect
// the shell and other processes that share `fd`. Returns -1 for files, which
// never block and which a reopened descriptor would overwrite from the start.
int OpenWithoutWaiting(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return -1;
  if (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode)) return -1;
  return open(absl::StrCat("/proc/self/fd/", fd).c_str(),
              O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool IsReady(int fd, int timeout_milliseconds) {
  pollfd ready = {.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&ready, 1, timeout_milliseconds) > 0;
}

// Writes as much text as fits to a descriptor that was not reopened (a socket,
// or another user's terminal). A ready pipe has room for PIPE_BUF bytes.
ssize_t WriteShared(int fd, absl::string_view text) {
  if (!IsReady(fd, /*timeout_milliseconds=*/0)) {
    errno = EAGAIN;
    return -1;
  }
  const size_t size = std::min<size_t>(text.size(), PIPE_BUF);
  const ssize_t sent = send(fd, text.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return write(fd, text.data(), size);
}

}  // namespace

Console::Console(int fd, bool is_terminal, std::string log_path)
    : fd_(fd),
      own_fd_(OpenWithoutWaiting(fd)),
      terminal_(is_terminal),
      log_path_(std::move(log_path)) {}

Console::~Console() {
  std::erase_if(pending_, [](const Pending& item) { return item.is_progress; });
  const absl::Time deadline = MonotonicNow() + kLastWait;
  do {
    Flush();
  } while (!current_.empty() && WaitForReader(deadline));
  if (current_.empty() && drawn_) {
    current_ = kClearLine;
    (void)WriteCurrent();
  }
  const bool is_cut = !current_.empty() && !drawn_;
  const size_t unread = left_out_ + pending_.size() + (is_cut ? 1 : 0);
  if (unread > 0) {
    GANDEM_LOG_WARN("nobody read the last {} lines of the output", unread);
  }
  if (own_fd_ >= 0) close(own_fd_);
}

int Console::Columns() const {
  winsize size = {};
  if (ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kUsualColumns;
  }
  return size.ws_col;
}

bool Console::WaitForReader(absl::Time deadline) const {
  const int64_t milliseconds =
      absl::ToInt64Milliseconds(deadline - MonotonicNow());
  return milliseconds > 0 &&
         IsReady(own_fd_ >= 0 ? own_fd_ : fd_, static_cast<int>(milliseconds));
}

bool Console::WriteCurrent() {
  while (!current_.empty()) {
    const ssize_t written =
        own_fd_ >= 0 ? write(own_fd_, current_.data(), current_.size())
                     : WriteShared(fd_, current_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return false;
    // The reader is gone, or the disk is full.
    if (written < 0)
      current_.clear();
    else
      current_.erase(0, static_cast<size_t>(written));
  }
  return true;
}

// Moves the next item to current_. A permanent line replaces the progress line;
// the next progress line is drawn below it.
bool Console::TakeNext() {
  if (pending_.empty()) return false;
  const Pending next = std::move(pending_.front());
  pending_.pop_front();
  if (next.is_progress && terminal_) {
    current_ = absl::StrCat("\r", next.text, "\x1b[K");
    drawn_ = true;
    return true;
  }
  current_ = drawn_ ? kClearLine : "";
  drawn_ = false;
  if (left_out_ > 0) {
    absl::StrAppend(&current_, "... ", std::exchange(left_out_, 0),
                    " lines are left out here, because nobody read them; ",
                    log_path_, " has them\n");
  }
  absl::StrAppend(&current_, next.text, "\n");
  return true;
}

void Console::Flush() {
  while (WriteCurrent() && TakeNext()) {
  }
}

// Adds an item. Drops older progress, and the oldest of too many items.
void Console::Add(Pending pending) {
  Flush();
  if (pending.is_progress) {
    std::erase_if(pending_,
                  [](const Pending& item) { return item.is_progress; });
  }
  pending_.push_back(std::move(pending));
  if (pending_.size() > kMaxPending) {
    left_out_ += pending_.front().is_progress ? 0 : 1;
    pending_.pop_front();
  }
  Flush();
}

void Console::PrintLine(absl::string_view line) {
  // The line may contain untrusted text, for example from a worker's log.
  Add({.text = PrintableText(line), .is_progress = false});
}

void Console::ShowProgress(const ProgressView& view, absl::Time now,
                           bool at_once) {
  Flush();
  const absl::Duration interval = terminal_ ? kTerminalInterval : kLineInterval;
  if (!at_once && now - last_shown_ < interval) return;
  last_shown_ = now;
  // A line that fills the last column would wrap on some terminals.
  Add({.text =
           terminal_ ? ProgressBar(view, Columns() - 1) : ProgressLine(view),
       .is_progress = true});
}

}  // namespace gandem
