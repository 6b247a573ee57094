// SPDX-License-Identifier: Apache-2.0
#include "common/files/plain_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

absl::string_view KindOf(mode_t type) {
  if (S_ISFIFO(type)) return "a named pipe";
  if (S_ISSOCK(type)) return "a socket";
  return "a device";
}

// Unnamed pipes are in the kernel's pipefs and in no folder.
bool IsNamed(int pipe) {
  struct statfs system = {};
  return fstatfs(pipe, &system) != 0 || system.f_type != PIPEFS_MAGIC;
}

// ENXIO means that no process reads the pipe that was opened for writing.
absl::Status WhyNot(int error, absl::string_view action,
                    const std::string& path) {
  if (error == ENXIO) GANDEM_RETURN_IF_ERROR(CheckIsNoPipe(path));
  return FileError(error, action, path);
}

}  // namespace

int OpenFile(const std::string& path, int flags, mode_t mode) {
  const FileWait wait(path);
  return open(path.c_str(), flags, mode);
}

absl::StatusOr<int> OpenPlainFile(const std::string& path,
                                  absl::string_view action, int flags,
                                  mode_t mode) {
  int fd = OpenFile(path, flags | O_NONBLOCK, mode);
  // Another process holds a lease on the file and will give it up soon.
  if (fd < 0 && errno == EWOULDBLOCK) fd = OpenFile(path, flags, mode);
  if (fd < 0) return WhyNot(errno, action, path);
  struct stat info = {};
  if (fstat(fd, &info) != 0 || S_ISREG(info.st_mode)) return fd;
  if (S_ISFIFO(info.st_mode) && IsNamed(fd)) {
    close(fd);
    return NoPlainFile(path, info.st_mode);
  }
  // Restores blocking reads and writes of pipes and devices.
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

bool IsOpenAs(int fd, const std::string& path) {
  const FileWait wait(path);
  struct stat ours = {};
  struct stat there = {};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

absl::Status CheckIsNoPipe(const std::string& path) {
  const FileWait wait(path);
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 ||
      (!S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode))) {
    return absl::OkStatus();
  }
  return NoPlainFile(path, info.st_mode);
}

absl::Status CheckIsFileOrFolder(const std::string& path) {
  const FileWait wait(path);
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return FileError(errno, "cannot open", path);
  }
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return absl::OkStatus();
  return NoPlainFile(path, info.st_mode);
}

absl::Status NoPlainFile(const std::string& path, mode_t type) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' is ", KindOf(type), "; give a regular file"));
}

}  // namespace gandem
