// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/socket_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/rpc/address.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr size_t kMaxName = 32;
constexpr absl::string_view kPrefix = "gandem-sockets-";
constexpr absl::string_view kSuffix = "XXXXXX";  // filled in by mkdtemp
// Maximum number of folders that one call removes, to limit its time.
constexpr int kMaxRemovals = 32;
// Retries because another process may remove a folder before it is locked.
constexpr int kMostTries = 100;

// Folder in which socket folders are created.
std::string Parent() {
  const char* const tmpdir = std::getenv("TMPDIR");
  const std::string parent = tmpdir == nullptr ? "" : tmpdir;
  const size_t rest = 1 + kPrefix.size() + kSuffix.size() + 1 + kMaxName;
  const bool is_usable = !parent.empty() && parent.front() == '/' &&
                         parent.size() + rest <= kMaxUnixPath;
  return is_usable ? parent : "/tmp";
}

// Returns whether only this user can change the folder's contents.
bool IsPrivate(const std::string& folder) {
  struct stat info = {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

// Returns a descriptor that holds the folder's lock, or -1 with errno:
// EWOULDBLOCK if it is locked, ENOENT if it is gone, else no lock support.
int TryLock(const std::string& folder) {
  const int fd =
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  int error = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  // Checks that the folder was not removed and recreated meanwhile.
  if (error == 0 && !IsOpenAs(fd, folder)) error = ENOENT;
  if (error == 0) return fd;
  close(fd);
  errno = error;
  return -1;
}

absl::Status NoFolder(const absl::Status& why, const std::string& parent) {
  const char* const tmpdir = std::getenv("TMPDIR");
  const bool is_set = tmpdir != nullptr && parent == tmpdir;
  return absl::Status(
      why.code(),
      absl::StrCat(why.message(), is_set ? "; TMPDIR names '" : "; '", parent,
                   is_set ? "': make that folder, or unset TMPDIR to use /tmp"
                          : "' has to be a folder that you may write to"));
}

struct LockedFolder {
  std::string path;
  int lock = -1;  // -1: the file system has no locks
};

absl::StatusOr<LockedFolder> Make() {
  const std::string parent = Parent();
  for (int i = 0; i < kMostTries; ++i) {
    std::string path = absl::StrCat(parent, "/", kPrefix, kSuffix);
    if (mkdtemp(path.data()) == nullptr) {
      return NoFolder(
          FileError(errno, "cannot make a folder for sockets", path), parent);
    }
    const int lock = TryLock(path);
    // Another process has removed it or is about to.
    if (lock < 0 && (errno == EWOULDBLOCK || errno == ENOENT)) continue;
    return LockedFolder{std::move(path), lock};
  }
  return FileError(EBUSY, "cannot make a folder for sockets", parent);
}

}  // namespace

void SocketFolder::RemoveAbandoned() {
  const std::string parent = Parent();
  const auto names = ListDirectory(parent);
  if (!names.ok()) return;
  int removals = 0;
  for (const std::string& name : *names) {
    const std::string folder = absl::StrCat(parent, "/", name);
    if (!absl::StartsWith(name, kPrefix) ||
        name.size() != kPrefix.size() + kSuffix.size() || !IsPrivate(folder)) {
      continue;
    }
    const int lock = TryLock(folder);
    if (lock < 0) continue;
    RemoveAll(folder).IgnoreError();
    close(lock);
    if (++removals == kMaxRemovals) return;
  }
}

absl::StatusOr<std::unique_ptr<SocketFolder>> SocketFolder::Create() {
  RemoveAbandoned();
  GANDEM_ASSIGN_OR_RETURN(LockedFolder made, Make());
  return std::unique_ptr<SocketFolder>(
      new SocketFolder(std::move(made.path), made.lock));
}

SocketFolder::~SocketFolder() {
  RemoveAll(path_).IgnoreError();
  if (lock_ >= 0) close(lock_);
  // Other processes of the run may have been killed meanwhile.
  RemoveAbandoned();
}

std::string SocketFolder::AddressOf(absl::string_view name) const {
  GANDEM_CHECK(name.size() <= kMaxName);
  return absl::StrCat("unix:", path_, "/", name);
}

}  // namespace gandem
