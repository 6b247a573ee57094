// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/disk_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/process/log.h"
#include "common/status.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

// Header of a block file: "gdmblk1 CRC32C\n".
constexpr char kBlockMagic[] = "gdmblk1 ";
constexpr size_t kBlockHeader = sizeof(kBlockMagic) - 1 + 8 + 1;
constexpr char kHalfWritten[] = ".tmp";
constexpr std::time_t kHalfWrittenSeconds = 3600;  // longer than any write
constexpr std::time_t kUsedAgainSeconds = 60;  // granularity of access times
// Fill level after an eviction.
constexpr double kTrimmedTo = 0.9;

std::string HeaderOf(absl::string_view block) {
  return absl::StrFormat("%s%08x\n", kBlockMagic, TextCrc32c(block));
}

struct CachedFile {
  std::time_t used = 0;
  int64_t bytes = 0;
  std::string path = {};
};

// Lists all blocks and deletes abandoned temporary files.
std::vector<CachedFile> ListBlocks(const std::string& folder) {
  std::vector<CachedFile> files;
  std::error_code error;
  const std::time_t now = std::time(nullptr);
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    struct stat info = {};
    const std::string path = it->path().string();
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (absl::EndsWith(path, kHalfWritten)) {
      if (now - info.st_mtime > kHalfWrittenSeconds) unlink(path.c_str());
    } else if (absl::EndsWith(path, ".block")) {
      files.push_back(
          {.used = info.st_mtime, .bytes = info.st_size, .path = path});
    }
  }
  return files;
}

}  // namespace

std::string DiskCache::PathOf(const std::string& name) const {
  return absl::StrCat(folder_, "/", name.substr(0, 2), "/", name, ".block");
}

std::optional<PagedString> DiskCache::Read(const std::string& name,
                                           int64_t bytes) {
  const std::string path = PathOf(name);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  const absl::Cleanup closer = [fd] { close(fd); };
  // One extra byte reveals a file that is too long.
  PagedString file(kBlockHeader + static_cast<size_t>(bytes) + 1, '\0');
  const auto size = ReadInto(fd, path, 0, file);
  if (!size.ok()) return std::nullopt;
  file.resize(*size);
  absl::string_view block = file;
  const std::string header(block.substr(0, kBlockHeader));
  block.remove_prefix(header.size());
  if (std::ssize(block) != bytes || header != HeaderOf(block)) {
    if (!damaged_.exchange(true)) {
      GANDEM_LOG_WARN(
          "'{}' in data.cache_dir is damaged: fetched again, as all that are "
          "from now on",
          path);
    }
    unlink(path.c_str());
    return std::nullopt;
  }
  struct stat info = {};
  if (fstat(fd, &info) == 0 &&
      std::time(nullptr) - info.st_mtime > kUsedAgainSeconds) {
    futimens(fd, nullptr);
  }
  file.erase(0, kBlockHeader);
  return file;
}

void DiskCache::Write(const std::string& name, absl::string_view block) {
  if (off_.load()) return;
  const absl::Status written = WriteBlock(PathOf(name), block);
  if (!written.ok()) {
    if (off_.exchange(true)) return;
    GANDEM_LOG_WARN(
        "data.cache_dir is not written to any more, training goes on without: "
        "{}",
        written.message());
    return;
  }
  bool trim = false;
  {
    absl::MutexLock lock(&mu_);
    // Other processes also write: rescan long before the limit.
    trim = !written_bytes_.has_value() || *written_bytes_ > max_bytes_ / 32;
    written_bytes_ = (trim ? 0 : *written_bytes_) + std::ssize(block);
  }
  if (trim) Trim();
}

absl::Status DiskCache::WriteBlock(const std::string& path,
                                   absl::string_view block) {
  static std::atomic<int64_t> number = 0;
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(path)));
  const std::string temporary =
      absl::StrCat(absl::StripSuffix(TemporaryName(path), kHalfWritten), "-",
                   number.fetch_add(1), kHalfWritten);
  const absl::Status written =
      WriteFile(temporary, absl::StrCat(HeaderOf(block), block));
  // Not synced: a block truncated by a crash is fetched again.
  if (written.ok() && rename(temporary.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  unlink(temporary.c_str());
  return written.ok() ? FileError(error, "cannot create", path) : written;
}

void DiskCache::Trim() {
  const std::string lock_path = folder_ + "/lock";
  const int lock =
      open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return;
  const absl::Cleanup closer = [lock] { close(lock); };
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) return;
  std::vector<CachedFile> files = ListBlocks(folder_);
  int64_t total = 0;
  for (const CachedFile& file : files) total += file.bytes;
  if (total <= max_bytes_) return;
  std::ranges::sort(files, {}, &CachedFile::used);
  const auto enough =
      static_cast<int64_t>(kTrimmedTo * static_cast<double>(max_bytes_));
  for (const CachedFile& file : files) {
    if (total <= enough) break;
    unlink(file.path.c_str());
    total -= file.bytes;
  }
}

}  // namespace gandem
