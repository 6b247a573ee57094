// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/profile_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/process/host_identity.h"
#include "common/status.h"

namespace gandem {

absl::StatusOr<ProfileLock> ProfileLock::Take(const std::string& profile) {
  const std::string path = profile + ".lock";
  while (true) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return FileError(errno, "cannot open", path);
    ProfileLock lock(path, fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(std::exchange(lock.file_, -1));
      if (error != EWOULDBLOCK) return FileError(error, "cannot lock", path);
      const std::string holder = HolderIn(path);
      return absl::AlreadyExistsError(absl::StrCat(
          "'", profile, "' is being measured by another `gandem profile`",
          holder.empty() ? "" : absl::StrCat(" (", holder, ")"),
          "; wait for its end, or stop it: the same command goes on"));
    }
    // Its holder before may have removed it since it was opened.
    if (!IsOpenAs(fd, path)) {
      close(std::exchange(lock.file_, -1));
      continue;
    }
    GANDEM_RETURN_IF_ERROR(WriteHolder(fd, path));
    return lock;
  }
}

ProfileLock::~ProfileLock() {
  if (file_ < 0) return;
  // While it is locked: whoever has opened it looks whether it is there still.
  unlink(path_.c_str());
  close(file_);
}

}  // namespace gandem
