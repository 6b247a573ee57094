// SPDX-License-Identifier: Apache-2.0
#include "evaluation/kept/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int kMaxJobs = 1000;  // of one key at the same time

// The descriptor of the folder's lock, or -1 when another process has it.
absl::StatusOr<int> TryLock(const std::string& folder) {
  const std::string path = folder + "/lock";
  while (true) {
    GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 && errno == ENOENT) continue;  // just removed by its owner
    if (fd < 0) return FileError(errno, "cannot open", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      close(fd);
      return -1;
    }
    struct stat info = {};
    if (fstat(fd, &info) == 0 && info.st_nlink > 0) return fd;
    close(fd);  // removed by its owner between the two calls
  }
}

}  // namespace

absl::StatusOr<WorkFolder> WorkFolder::Take(const std::string& parent,
                                            const std::string& key) {
  for (int number = 1; number <= kMaxJobs; ++number) {
    std::string path = absl::StrCat(parent, "/", key);
    if (number > 1) absl::StrAppend(&path, ".", number);
    GANDEM_ASSIGN_OR_RETURN(const int fd, TryLock(path));
    if (fd >= 0) return WorkFolder(std::move(path), fd);
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      kMaxJobs, " evaluations of the same images run already, in ", parent));
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

WorkFolder::~WorkFolder() {
  if (fd_ >= 0) close(fd_);
}

absl::Status WorkFolder::Remove() { return RemoveAll(path_); }

}  // namespace gandem
