// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/files/file.h"
#include "common/files/rotation.h"
#include "common/files/spare_descriptors.h"

namespace gandem {
namespace {

constexpr int64_t kPieceBytes = 64 << 10;
// Lines begin with times, so that these tell two files apart.
constexpr size_t kRememberedBytes = 256;

}  // namespace

struct GrowingFile::OpenFile {
  explicit OpenFile(int fd) : fd(fd) { fstat(fd, &at_open); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(fd); }

  bool IsSame(const OpenFile& other) const {
    return at_open.st_ino == other.at_open.st_ino &&
           at_open.st_dev == other.at_open.st_dev;
  }

  const int fd;
  struct stat at_open = {};
};

// The newest first. In this order a rotation meanwhile shows a file twice and
// hides none.
GrowingFile::OpenFiles GrowingFile::OpenAll() const {
  OpenFiles files;
  for (int number = 0; number <= kOlderLogs; ++number) {
    const std::string name = number == 0 ? path_ : RotatedName(path_, number);
    const auto fd = OpenPlainFile(name, "cannot open", O_RDONLY | O_CLOEXEC);
    if (!fd.ok()) continue;
    auto file = std::make_shared<const OpenFile>(*fd);
    const bool is_known = std::ranges::any_of(
        files, [&](const auto& known) { return known->IsSame(*file); });
    if (!is_known) files.push_back(std::move(file));
  }
  return files;
}

void GrowingFile::Look() {
  const OpenFiles now = OpenAll();
  if (now.empty()) return;
  size_t place = now.size();  // of what was the newest; so: it is gone
  for (size_t i = 0; i < now.size() && !segments_.empty(); ++i) {
    if (now[i]->IsSame(*segments_.back().file)) place = i;
  }
  const bool is_emptied = place == 0 && IsEmptied(now[0]->at_open.st_size, now);
  if (is_emptied) TakeCopies(now);
  // It has got another name: those above it are new.
  for (size_t i = place; i > 0; --i) {
    segments_.push_back({.file = now[i - 1]});
    last_read_.clear();
  }
  // A copy of what is still to be emptied stays a new one.
  if (place > 0 || is_emptied) {
    newest_older_ = now.size() > 1 ? now[1] : nullptr;
  }
}

// RotateOpenFile: a copy has moved, and the file was emptied. What it has now
// may be more than it had.
bool GrowingFile::IsEmptied(int64_t bytes, const OpenFiles& now) const {
  const int64_t offset = segments_.back().offset;
  if (bytes < offset) return true;
  if (offset > 0) return BytesBefore(*now[0], offset) != last_read_;
  // Nothing was read of it: then the copy is new, and larger.
  return now.size() > 1 &&
         (newest_older_ == nullptr || !now[1]->IsSame(*newest_older_)) &&
         bytes < now[1]->at_open.st_size;
}

// The oldest of the new copies has what was not read before the file was
// emptied, the others what it had in between.
void GrowingFile::TakeCopies(const OpenFiles& now) {
  size_t copies = now.size() - 1;
  for (size_t i = 1; i < now.size() && newest_older_ != nullptr; ++i) {
    if (now[i]->IsSame(*newest_older_)) copies = i - 1;
  }
  const Segment emptied = segments_.back();
  segments_.pop_back();
  for (size_t i = copies; i > 0; --i) {
    const int64_t bytes = now[i]->at_open.st_size;
    // With as many as are kept, that one may be gone.
    const bool is_its_own =
        i == copies && (copies < kOlderLogs ||
                        BytesBefore(*now[i], emptied.offset) == last_read_);
    segments_.push_back(
        {.file = now[i],
         .offset = is_its_own ? std::min(emptied.offset, bytes) : 0});
  }
  segments_.push_back({.file = emptied.file});
  last_read_.clear();
}

std::string GrowingFile::BytesBefore(const OpenFile& file,
                                     int64_t offset) const {
  const auto size = static_cast<int64_t>(last_read_.size());
  return ReadAt(file.fd, path_, offset - size, size).value_or("");
}

std::string GrowingFile::Read() {
  while (!segments_.empty()) {
    Segment& segment = segments_.front();
    auto bytes = ReadAt(segment.file->fd, path_, segment.offset, kPieceBytes);
    const bool is_newest = segments_.size() == 1;
    if (bytes.ok() && !bytes->empty()) {
      segment.offset += static_cast<int64_t>(bytes->size());
      if (is_newest) {
        last_read_ += *bytes;
        last_read_.erase(0, last_read_.size() -
                                std::min(last_read_.size(), kRememberedBytes));
      }
      return *std::move(bytes);
    }
    if (is_newest) break;
    segments_.pop_front();
  }
  return "";
}

absl::Time GrowingFile::ChangeTime() const {
  struct stat opened = {};
  return !segments_.empty() && fstat(segments_.back().file->fd, &opened) == 0
             ? absl::TimeFromTimespec(opened.st_mtim)
             : absl::UnixEpoch();
}

}  // namespace gandem
