// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string LockPath(const std::string& run_dir) {
  return run_dir + "/state/lock";
}

}  // namespace

absl::StatusOr<RunLock> RunLock::Take(const std::string& run_dir) {
  return TakeFile(run_dir, LockPath(run_dir), "gandem train",
                  "wait for its end, stop it, or choose another --run_dir");
}

absl::StatusOr<RunLock> RunLock::TakeForWatch(const std::string& run_dir) {
  return TakeFile(run_dir, run_dir + "/state/watch-eval.lock",
                  "gandem watch-eval",
                  "it judges all checkpoints; stop it "
                  "first to do that in another way");
}

absl::StatusOr<RunLock> RunLock::TakeFile(const std::string& run_dir,
                                          const std::string& path,
                                          absl::string_view command,
                                          absl::string_view advice) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return FileError(errno, "cannot open", path);
  RunLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FileError(errno, "cannot lock", path);
    const std::string holder = ReadFile(path, 4096).value_or("");
    return absl::AlreadyExistsError(
        absl::StrCat("'", run_dir, "' is in use by another `", command, "` (",
                     absl::StripSuffix(holder, "\n"), "); ", advice));
  }
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  // For people only.
  const std::string holder =
      absl::StrCat("process ", getpid(), " on ", host, "\n");
  if (ftruncate(fd, 0) != 0 || pwrite(fd, holder.data(), holder.size(), 0) !=
                                   static_cast<ssize_t>(holder.size())) {
    return FileError(errno, "cannot write", path);
  }
  return lock;
}

bool RunLock::IsTaken(const std::string& run_dir) {
  const int fd = open(LockPath(run_dir).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const RunLock lock(fd);
  return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

RunLock::RunLock(RunLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

RunLock::~RunLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace gandem
