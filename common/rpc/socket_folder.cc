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
#include "common/rpc/address.h"

namespace gandem {
namespace {

constexpr size_t kMaxName = 32;
constexpr absl::string_view kPrefix = "gandem-";
constexpr absl::string_view kSuffix = "XXXXXX";  // mkdtemp fills it in
constexpr char kLock[] = "/.lock";
// Of one call, so that it does not take long.
constexpr int kMaxRemovals = 32;

// Where folders are made.
std::string Parent() {
  const char* const tmpdir = std::getenv("TMPDIR");
  const std::string parent = tmpdir == nullptr ? "" : tmpdir;
  const size_t rest = 1 + kPrefix.size() + kSuffix.size() + 1 + kMaxName;
  const bool is_usable = !parent.empty() && parent.front() == '/' &&
                         parent.size() + rest <= kMaxUnixPath;
  return is_usable ? parent : "/tmp";
}

// -1: it is locked, or there is no such file.
int TryLock(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return -1;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  close(fd);
  return -1;
}

// The file gets its name when it is locked: one without a lock is nobody's.
int Lock(const std::string& folder) {
  const std::string path = folder + kLock;
  const int fd = TryLock(path + ".new", O_RDWR | O_CREAT | O_EXCL);
  if (fd >= 0) (void)std::rename((path + ".new").c_str(), path.c_str());
  return fd;
}

// Other users cannot have changed what is in a folder that passes the test.
bool IsPrivate(const std::string& folder) {
  struct stat info = {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

}  // namespace

void SocketFolder::RemoveAbandoned() {
  const std::string parent = Parent();
  const auto names = ListDirectory(parent);
  if (!names.ok()) return;
  int removals = 0;
  for (const std::string& name : *names) {
    if (!absl::StartsWith(name, kPrefix) ||
        name.size() != kPrefix.size() + kSuffix.size()) {
      continue;
    }
    const std::string folder = absl::StrCat(parent, "/", name);
    const int lock = IsPrivate(folder) ? TryLock(folder + kLock, O_RDONLY) : -1;
    if (lock < 0) continue;
    RemoveAll(folder).IgnoreError();
    close(lock);
    if (++removals == kMaxRemovals) return;
  }
}

absl::StatusOr<std::unique_ptr<SocketFolder>> SocketFolder::Create() {
  RemoveAbandoned();
  std::string path = absl::StrCat(Parent(), "/", kPrefix, kSuffix);
  if (mkdtemp(path.data()) == nullptr) {
    return FileError(errno, "cannot make a folder for sockets", path);
  }
  const int lock = Lock(path);
  return std::unique_ptr<SocketFolder>(new SocketFolder(std::move(path), lock));
}

SocketFolder::~SocketFolder() {
  RemoveAll(path_).IgnoreError();
  if (lock_ >= 0) close(lock_);
  // Processes of the same run may have been killed meanwhile.
  RemoveAbandoned();
}

absl::Status SocketFolder::Mend() {
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    return FileError(errno, "cannot make a folder for sockets", path_);
  }
  if (!IsPrivate(path_)) {
    return absl::PermissionDeniedError(
        absl::StrCat("'", path_, "' has become another user's; start again"));
  }
  if (PathExists(path_ + kLock)) return absl::OkStatus();
  if (lock_ >= 0) close(lock_);
  lock_ = Lock(path_);
  return absl::OkStatus();
}

std::string SocketFolder::AddressOf(absl::string_view name) const {
  GANDEM_CHECK(name.size() <= kMaxName);
  return absl::StrCat("unix:", path_, "/", name);
}

}  // namespace gandem
