// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/socket_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
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
constexpr absl::string_view kPrefix = "gandem-";
// Until its lock is there: one with this name and without a lock is nobody's.
constexpr absl::string_view kNewPrefix = "gandem-new-";
constexpr absl::string_view kSuffix = "XXXXXX";  // mkdtemp fills it in
constexpr char kLock[] = "/.lock";
// Of one call, so that it does not take long.
constexpr int kMaxRemovals = 32;
// Of one that others take for abandoned in the moment before it is locked.
constexpr int kMostTries = 100;

// Where folders are made.
std::string Parent() {
  const char* const tmpdir = std::getenv("TMPDIR");
  const std::string parent = tmpdir == nullptr ? "" : tmpdir;
  const size_t rest = 1 + kPrefix.size() + kSuffix.size() + 1 + kMaxName;
  const bool is_usable = !parent.empty() && parent.front() == '/' &&
                         parent.size() + rest <= kMaxUnixPath;
  return is_usable ? parent : "/tmp";
}

bool HasName(absl::string_view name, absl::string_view prefix) {
  return absl::StartsWith(name, prefix) &&
         name.size() == prefix.size() + kSuffix.size();
}

// -1: it is locked, or there is no such file.
int TryLock(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return -1;
  // Not one of a folder that was removed, and made again, meanwhile.
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && IsOpenAs(fd, path)) return fd;
  close(fd);
  return -1;
}

// Other users cannot have changed what is in a folder that passes the test.
bool IsPrivate(const std::string& folder) {
  struct stat info = {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid() && (info.st_mode & 077) == 0;
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

// A folder with a lock (-1: the file system has none), at `wanted` or, where
// that is empty, at a name of its own. Whoever is killed on the way leaves what
// RemoveHalfMade() removes.
struct LockedFolder {
  std::string path;
  int lock = -1;
};

absl::StatusOr<LockedFolder> Make(const std::string& wanted) {
  const std::string parent = Parent();
  int error = EBUSY;
  for (int i = 0; i < kMostTries; ++i) {
    std::string made = absl::StrCat(parent, "/", kNewPrefix, kSuffix);
    if (mkdtemp(made.data()) == nullptr) {
      return NoFolder(
          FileError(errno, "cannot make a folder for sockets", made), parent);
    }
    errno = 0;
    const int lock = TryLock(made + kLock, O_RDWR | O_CREAT | O_EXCL);
    // Others have removed it, or are about to.
    if (lock < 0 && (errno == EWOULDBLOCK || errno == ENOENT)) continue;
    const std::string path =
        wanted.empty() ? absl::StrCat(parent, "/", kPrefix,
                                      made.substr(made.size() - kSuffix.size()))
                       : wanted;
    if (std::rename(made.c_str(), path.c_str()) == 0) {
      return LockedFolder{path, lock};
    }
    error = errno;
    if (lock >= 0) close(lock);
    if (error != ENOENT) RemoveAll(made).IgnoreError();
  }
  return FileError(error, "cannot make a folder for sockets",
                   wanted.empty() ? parent : wanted);
}

// Of a folder that this process has locked. Whoever is killed on the way leaves
// one with a lock that is free, or what RemoveHalfMade() removes.
void Remove(const std::string& folder) {
  const auto names = ListDirectory(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if ("/" + name != kLock) RemoveAll(folder + "/" + name).IgnoreError();
  }
  const std::string last =
      absl::StrCat(ParentOf(folder), "/", kNewPrefix,
                   folder.substr(folder.size() - kSuffix.size()));
  if (std::rename(folder.c_str(), last.c_str()) != 0) return;
  unlink((last + kLock).c_str());
  rmdir(last.c_str());
}

// Never what has something else in it.
bool RemoveHalfMade(const std::string& folder) {
  const int lock = TryLock(folder + kLock, O_RDONLY);
  if (lock >= 0) unlink((folder + kLock).c_str());
  const bool is_removed = rmdir(folder.c_str()) == 0;
  if (lock >= 0) close(lock);
  return is_removed;
}

bool RemoveIfAbandoned(const std::string& folder) {
  const int lock = TryLock(folder + kLock, O_RDONLY);
  if (lock < 0) return false;
  Remove(folder);
  close(lock);
  return true;
}

}  // namespace

void SocketFolder::RemoveAbandoned() {
  const std::string parent = Parent();
  const auto names = ListDirectory(parent);
  if (!names.ok()) return;
  int removals = 0;
  for (const std::string& name : *names) {
    const bool is_new = HasName(name, kNewPrefix);
    const std::string folder = absl::StrCat(parent, "/", name);
    if ((!is_new && !HasName(name, kPrefix)) || !IsPrivate(folder)) continue;
    removals += is_new ? RemoveHalfMade(folder) : RemoveIfAbandoned(folder);
    if (removals == kMaxRemovals) return;
  }
}

absl::StatusOr<std::unique_ptr<SocketFolder>> SocketFolder::Create() {
  RemoveAbandoned();
  GANDEM_ASSIGN_OR_RETURN(LockedFolder made, Make(/*wanted=*/""));
  return std::unique_ptr<SocketFolder>(
      new SocketFolder(std::move(made.path), made.lock));
}

SocketFolder::~SocketFolder() {
  Remove(path_);
  if (lock_ >= 0) close(lock_);
  // Processes of the same run may have been killed meanwhile.
  RemoveAbandoned();
}

std::string SocketFolder::AddressOf(absl::string_view name) const {
  GANDEM_CHECK(name.size() <= kMaxName);
  return absl::StrCat("unix:", path_, "/", name);
}

}  // namespace gandem
