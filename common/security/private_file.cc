// SPDX-License-Identifier: Apache-2.0
#include "common/security/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

absl::Status WriteAndSync(int fd, absl::string_view contents,
                          const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(errno, "cannot write", path);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(fd) != 0) return FileError(errno, "cannot sync", path);
  return absl::OkStatus();
}

// Writes a file with a unique name. mkostemp() sets mode 0600.
absl::StatusOr<std::string> WriteTemporary(const std::string& path,
                                           absl::string_view contents) {
  const FileWait wait(path, FileWait::kSyncPatience);
  std::string name = path + ".XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot create", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  const absl::Status written = WriteAndSync(fd, contents, path);
  if (written.ok()) return name;
  unlink(name.c_str());
  return written;
}

}  // namespace

// link() makes a complete file appear, and fails if the name exists. Without
// links (FAT, some in user space) the last of two writers wins.
absl::Status CreatePrivateFile(const std::string& path,
                               absl::string_view contents) {
  GANDEM_ASSIGN_OR_RETURN(const std::string temporary,
                          WriteTemporary(path, contents));
  const absl::Cleanup remove = [&temporary] { unlink(temporary.c_str()); };
  if (link(temporary.c_str(), path.c_str()) == 0) {
    return FsyncDirectory(ParentOf(path));
  }
  const int error = errno;
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS) {
    if (PathExists(path)) return FileError(EEXIST, "cannot create", path);
    return RenameDurably(temporary, path);
  }
  return FileError(error, "cannot create", path);
}

absl::StatusOr<std::string> ReadPrivateFile(const std::string& path,
                                            int64_t max_bytes) {
  const FileWait wait(path);
  // Does not block on a FIFO.
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot open", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FileError(errno, "cannot stat", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' is no regular file"));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "'%s' holds a secret, and its mode %04o lets others at it: `chmod 600 "
        "%s`; if others may have read it, remove it and have a new one made",
        path, info.st_mode & 07777, path));
  }
  if (info.st_size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' has ", info.st_size, " bytes, at most ",
                     max_bytes, " are expected: it is another file"));
  }
  return ReadAt(fd, path, 0, max_bytes);
}

}  // namespace gandem
