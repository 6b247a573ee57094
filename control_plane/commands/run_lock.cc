// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/process/host_identity.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string LockPath(const std::string& run_dir) {
  return run_dir + "/state/lock";
}

// Of the open file description, so that it goes with its last descriptor, and
// so that F_OFD_GETLK can ask for it.
struct flock WholeFile() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

absl::Status InUse(const std::string& run_dir, const std::string& holder,
                   absl::string_view command, absl::string_view advice) {
  return absl::AlreadyExistsError(
      absl::StrCat("'", run_dir, "' is in use by another `", command, "`",
                   holder.empty() ? "" : " (", holder,
                   holder.empty() ? "; " : "); ", advice));
}

constexpr char kTrainAdvice[] =
    "wait for its end, stop it, or choose another --run_dir";

}  // namespace

// The file first: until it is locked it may name the holder before.
absl::StatusOr<RunLock> RunLock::Take(const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(RunLock lock, TakeFile(run_dir, LockPath(run_dir),
                                                 "gandem train", kTrainAdvice));
  const FileWait wait(run_dir);
  lock.folder_ = open(run_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.folder_ < 0) return FileError(errno, "cannot open", run_dir);
  // Some network file systems cannot lock a folder; there the file must do.
  if (flock(lock.folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return InUse(run_dir, "its state/lock was removed", "gandem train",
                 kTrainAdvice);
  }
  return lock;
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
  const FileWait wait(path);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return FileError(errno, "cannot open", path);
  RunLock lock(path, fd, /*folder=*/-1);
  struct flock whole = WholeFile();
  if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) {
      return FileError(errno, "cannot lock", path);
    }
    return InUse(run_dir, HolderIn(path), command, advice);
  }
  GANDEM_RETURN_IF_ERROR(WriteHolder(fd, path));
  return lock;
}

bool RunLock::IsTaken(const std::string& run_dir) {
  const auto opened =
      OpenPlainFile(LockPath(run_dir), "cannot open", O_RDONLY | O_CLOEXEC);
  if (!opened.ok()) return false;
  const int fd = *opened;
  const FileWait wait(LockPath(run_dir));
  struct flock whole = WholeFile();
  const bool is_taken =
      fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  close(fd);
  return is_taken;
}

std::string RunLock::Holder(const std::string& run_dir) {
  return HolderIn(LockPath(run_dir));
}

RunLock::RunLock(RunLock&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      folder_(std::exchange(other.folder_, -1)) {}

RunLock::~RunLock() {
  for (const int fd : {file_, folder_}) {
    if (fd >= 0) close(fd);
  }
}

absl::Status RunLock::Mend() {
  if (IsOpenAs(file_, path_)) return absl::OkStatus();
  const std::string run_dir = ParentOf(ParentOf(path_));
  // The file that is locked is still in the folder that is.
  if (!IsOpenAs(folder_, run_dir)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", run_dir, "' is not the folder that this training ",
                     "began in: that one was moved away or removed"));
  }
  GANDEM_ASSIGN_OR_RETURN(
      RunLock lock, TakeFile(run_dir, path_, "gandem train", kTrainAdvice));
  std::swap(file_, lock.file_);
  return absl::OkStatus();
}

}  // namespace gandem
