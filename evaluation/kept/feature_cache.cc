// SPDX-License-Identifier: Apache-2.0
#include "evaluation/kept/feature_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr char kUsed[] = "/used";
constexpr absl::Duration kRemovalDeadline = absl::Minutes(1);
constexpr absl::Duration kPollRemoval = absl::Milliseconds(10);

struct KeptFolder {
  std::string path;
  int64_t bytes = 0;
  timespec used = {};
};

bool UsedBefore(const KeptFolder& a, const KeptFolder& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) <
         std::pair(b.used.tv_sec, b.used.tv_nsec);
}

// Files that vanish meanwhile count nothing: other jobs trim, too.
KeptFolder Measure(const std::string& path) {
  KeptFolder folder = {.path = path};
  struct stat info = {};
  if (stat((path + kUsed).c_str(), &info) == 0) folder.used = info.st_mtim;
  const auto names = ListDirectory(path);
  if (!names.ok()) return folder;
  for (const std::string& name : *names) {
    if (stat(absl::StrCat(path, "/", name).c_str(), &info) == 0) {
      folder.bytes += info.st_size;
    }
  }
  return folder;
}

// False: a job has it.
absl::StatusOr<bool> RemoveUnlessHeld(const std::string& path) {
  const std::string lock = path + kUsed;
  const int fd = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  // Just removed by another job.
  if (fd < 0 && errno == ENOENT) return true;
  if (fd < 0) return FileError(errno, "cannot open", lock);
  const absl::Cleanup close_lock = [fd] { close(fd); };
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  GANDEM_RETURN_IF_ERROR(RemoveAll(path));
  return true;
}

}  // namespace

absl::StatusOr<CachedFolder> CachedFolder::Hold(const std::string& cache,
                                                const std::string& key) {
  std::string path = absl::StrCat(cache, "/", key);
  const std::string lock = path + kUsed;
  const absl::Time deadline = MonotonicNow() + kRemovalDeadline;
  while (MonotonicNow() < deadline) {
    GANDEM_RETURN_IF_ERROR(CreateDirectories(path));
    const int fd = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 && errno == ENOENT) continue;  // just removed by another job
    if (fd < 0) return FileError(errno, "cannot open", lock);
    struct stat info = {};
    const bool locked = flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (locked && fstat(fd, &info) == 0 && info.st_nlink > 0) {
      futimens(fd, nullptr);
      return CachedFolder(std::move(path), fd);
    }
    close(fd);
    // Another job is removing it.
    if (!locked) absl::SleepFor(kPollRemoval);
  }
  return absl::UnavailableError(absl::StrCat(
      "another job has been removing '", path, "' for ",
      absl::FormatDuration(kRemovalDeadline),
      ": start the same command again, or remove the folder yourself"));
}

CachedFolder::CachedFolder(CachedFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

CachedFolder& CachedFolder::operator=(CachedFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

CachedFolder::~CachedFolder() {
  if (fd_ >= 0) close(fd_);
}

absl::Status TrimFeatureCache(const std::string& cache, int64_t max_bytes) {
  if (!PathExists(cache)) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(cache));
  std::vector<KeptFolder> folders;
  int64_t total = 0;
  for (const std::string& name : names) {
    folders.push_back(Measure(absl::StrCat(cache, "/", name)));
    total += folders.back().bytes;
  }
  std::ranges::sort(folders, UsedBefore);
  for (const KeptFolder& folder : folders) {
    if (total <= max_bytes) break;
    GANDEM_ASSIGN_OR_RETURN(const bool removed, RemoveUnlessHeld(folder.path));
    if (removed) total -= folder.bytes;
  }
  return absl::OkStatus();
}

}  // namespace gandem
