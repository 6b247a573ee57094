// SPDX-License-Identifier: Apache-2.0
#include "common/process/file_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/spare_descriptors.h"

namespace gandem {
namespace {

// What the child writes into its pipe.
struct ProbeAnswer {
  int error = 0;  // errno; 0: none
  mode_t mode = 0;
};

// Between fork and _exit in a process that may have had other threads: system
// calls only. Opens nothing but files and folders, because opening a device may
// do something.
ProbeAnswer LookAt(const char* path) {
  struct stat info = {};
  if (stat(path, &info) != 0) return {.error = errno};
  const ProbeAnswer found = {.mode = info.st_mode};
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return found;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {.error = errno};
  char first = 0;
  if (S_ISREG(info.st_mode) && read(fd, &first, 1) < 0) {
    return {.error = errno};
  }
  return found;
}

[[noreturn]] void RunProbe(const char* path, int answer_fd) {
  const ProbeAnswer answer = LookAt(path);
  (void)!write(answer_fd, &answer, sizeof(answer));
  _exit(0);
}

absl::Status Judge(const ProbeAnswer& answer, const std::string& path) {
  if (answer.error != 0) return FileError(answer.error, "cannot open", path);
  if (S_ISREG(answer.mode) || S_ISDIR(answer.mode)) return absl::OkStatus();
  return NoPlainFile(path, answer.mode);
}

// The system's clock for poll() is one that never steps.
bool IsReadableWithin(int fd, absl::Duration limit) {
  const int64_t milliseconds = std::clamp<int64_t>(
      absl::ToInt64Milliseconds(limit), 0, int64_t{INT_MAX});
  pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waiting, 1, static_cast<int>(milliseconds));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

absl::Status ProbeFile(const std::string& path, absl::Duration limit) {
  std::array<int, 2> fds = {-1, -1};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) {
    return FileError(errno, "cannot look at", path);
  }
  const absl::Cleanup close_pipe = [&fds] {
    for (const int fd : fds) {
      if (fd >= 0) close(fd);
    }
  };
  const pid_t pid = fork();
  if (pid < 0) return FileError(errno, "cannot look at", path);
  if (pid == 0) RunProbe(path.c_str(), fds[1]);
  close(std::exchange(fds[1], -1));
  // Whoever watches says what is waited for; the limit here ends it.
  const FileWait wait(path, FileWait::kSyncPatience);
  if (!IsReadableWithin(fds[0], limit)) {
    // In a system call that hangs it stays until that returns; the system reaps
    // it when we have gone.
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, WNOHANG);
    return absl::DeadlineExceededError(absl::StrCat(
        "'", path, "' could not be opened within ", absl::FormatDuration(limit),
        ": its file system does not answer; is the server of the mount "
        "there?"));
  }
  ProbeAnswer answer;
  const ssize_t size = read(fds[0], &answer, sizeof(answer));
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (size != sizeof(answer)) answer = {.error = EIO};
  return Judge(answer, path);
}

}  // namespace gandem
