// SPDX-License-Identifier: Apache-2.0
#include "pipeline/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/status.h"

namespace gandem {
namespace {

absl::Status EndsEarly(const std::string& name, int64_t offset, int64_t size) {
  return absl::DataLossError(absl::StrCat("'", name, "' is cut off: it lacks ",
                                          size, " bytes at byte ", offset));
}

class LocalFile : public RandomAccessFile {
 public:
  LocalFile(std::string path, int fd, int64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;
  ~LocalFile() override { close(fd_); }

  const std::string& name() const override { return path_; }
  int64_t size() const override { return size_; }
  absl::StatusOr<std::string> Read(int64_t offset,
                                   int64_t size) const override {
    // A damaged index must not cause a large allocation.
    if (offset > size_ || size > size_ - offset) {
      return EndsEarly(path_, offset, size);
    }
    GANDEM_ASSIGN_OR_RETURN(std::string bytes,
                            ReadAt(fd_, path_, offset, size));
    if (std::ssize(bytes) < size) return EndsEarly(path_, offset, size);
    return bytes;
  }

 private:
  // Never change after construction.
  const std::string path_;
  const int fd_;
  const int64_t size_;
};

class OnDemandFile : public RandomAccessFile {
 public:
  OnDemandFile(std::string path, int64_t size)
      : path_(std::move(path)), size_(size) {}

  const std::string& name() const override { return path_; }
  int64_t size() const override { return size_; }
  absl::StatusOr<std::string> Read(int64_t offset,
                                   int64_t size) const override {
    GANDEM_ASSIGN_OR_RETURN(const auto file, OpenLocalFile(path_));
    if (file->size() != size_) {
      return absl::DataLossError(
          absl::StrCat("'", path_, "' had ", size_, " bytes and has ",
                       file->size(), " now: it was changed while it was read"));
    }
    return file->Read(offset, size);
  }

 private:
  // Never change after construction.
  const std::string path_;
  const int64_t size_;
};

class MemoryFile : public RandomAccessFile {
 public:
  MemoryFile(std::string name, SharedBytes bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}

  const std::string& name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  absl::StatusOr<std::string> Read(int64_t offset,
                                   int64_t bytes) const override {
    if (offset > size() || bytes > size() - offset) {
      return EndsEarly(name_, offset, bytes);
    }
    return std::string(reinterpret_cast<const char*>(bytes_.data()) + offset,
                       static_cast<size_t>(bytes));
  }

 private:
  // Never change after construction.
  const std::string name_;
  const SharedBytes bytes_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenLocalFile(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(
      const int fd, OpenPlainFile(path, "cannot open", O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  const bool known = fstat(fd, &info) == 0;
  // `file` closes the descriptor from here on.
  auto file = std::make_shared<const LocalFile>(path, fd, info.st_size);
  if (!known) return FileError(errno, "cannot read", path);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is a folder, and a file was expected"));
  }
  return file;
}

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> OpenLocalFileOnDemand(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenLocalFile(path));
  return std::make_shared<const OnDemandFile>(path, file->size());
}

std::shared_ptr<const RandomAccessFile> FileInMemory(std::string name,
                                                     SharedBytes bytes) {
  return std::make_shared<const MemoryFile>(std::move(name), std::move(bytes));
}

}  // namespace gandem
