// SPDX-License-Identifier: Apache-2.0
#include "evaluation/kept/held_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
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

namespace fs = std::filesystem;

constexpr char kUsed[] = "/used";
constexpr absl::Duration kRemovalDeadline = absl::Minutes(1);
constexpr absl::Duration kPollRemoval = absl::Milliseconds(10);

struct KeptFolder {
  fs::file_time_type used;
  std::string path;
  int64_t bytes = 0;
};

// Ignores files that vanish meanwhile: other jobs trim, too.
KeptFolder Measure(const std::string& path) {
  std::error_code error;
  KeptFolder folder = {.used = fs::last_write_time(path + kUsed, error),
                       .path = path};
  for (const auto& file : fs::directory_iterator(path, error)) {
    const auto size = static_cast<int64_t>(file.file_size(error));
    if (!error) folder.bytes += size;
  }
  return folder;
}

// Returns false if a job holds the folder.
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

absl::StatusOr<HeldFolder> HeldFolder::Hold(const std::string& parent,
                                            const std::string& key) {
  std::string path = absl::StrCat(parent, "/", key);
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
      return HeldFolder(std::move(path), fd);
    }
    close(fd);
    // Another job is removing the folder.
    if (!locked) absl::SleepFor(kPollRemoval);
  }
  return absl::UnavailableError(absl::StrCat(
      "another job has been removing '", path, "' for ",
      absl::FormatDuration(kRemovalDeadline),
      ": start the same command again, or remove the folder yourself"));
}

HeldFolder::HeldFolder(HeldFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

HeldFolder& HeldFolder::operator=(HeldFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

HeldFolder::~HeldFolder() {
  if (fd_ >= 0) close(fd_);
}

absl::Status HeldFolder::Remove() {
  close(std::exchange(fd_, -1));
  return RemoveUnlessHeld(path_).status();
}

absl::Status TrimFolders(const std::string& parent, int64_t max_bytes) {
  if (!PathExists(parent)) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(parent));
  std::vector<KeptFolder> folders;
  int64_t total = 0;
  for (const std::string& name : names) {
    folders.push_back(Measure(absl::StrCat(parent, "/", name)));
    total += folders.back().bytes;
  }
  std::ranges::sort(folders, {}, &KeptFolder::used);
  for (const KeptFolder& folder : folders) {
    if (total <= max_bytes) break;
    GANDEM_ASSIGN_OR_RETURN(const bool removed, RemoveUnlessHeld(folder.path));
    if (removed) total -= folder.bytes;
  }
  return absl::OkStatus();
}

}  // namespace gandem
