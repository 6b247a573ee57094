// SPDX-License-Identifier: Apache-2.0
#include "common/files/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/crc32c.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/status.h"

namespace gandem {

absl::StatusOr<FileWriter> FileWriter::Create(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(
      const int fd,
      OpenPlainFile(path, "cannot create",
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  return FileWriter(path, fd);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      written_(other.written_) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) close(fd_);
}

absl::Status FileWriter::Append(std::span<const std::byte> bytes) {
  // Small pieces are still in the CPU's cache when the CRC reads them.
  constexpr size_t kPiece = size_t{1} << 20;
  while (!bytes.empty()) {
    const std::span<const std::byte> piece =
        bytes.first(std::min(bytes.size(), kPiece));
    const FileWait wait(path_);
    const ssize_t size = write(fd_, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(errno, "cannot write", path_);
    const std::span<const std::byte> done =
        piece.first(static_cast<size_t>(size));
    written_.crc32c = Crc32c(done, written_.crc32c);
    written_.size += size;
    bytes = bytes.subspan(done.size());
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Append(absl::string_view text) {
  return Append(std::as_bytes(std::span(text.data(), text.size())));
}

// Without fsync a crash may leave a file of the right size with wrong bytes.
absl::Status FileWriter::Sync() {
  const FileWait wait(path_, FileWait::kSyncPatience);
  if (fsync(fd_) != 0) return FileError(errno, "cannot fsync", path_);
  return absl::OkStatus();
}

absl::StatusOr<FileSummary> FileWriter::Close() {
  const FileWait wait(path_, FileWait::kSyncPatience);
  if (close(std::exchange(fd_, -1)) != 0) {
    return FileError(errno, "cannot close", path_);
  }
  return written_;
}

absl::StatusOr<FileSummary> SummarizeFile(const std::string& path) {
  FileSummary summary;
  GANDEM_RETURN_IF_ERROR(
      ReadPieces(path, [&summary](std::span<const std::byte> piece) {
        summary.crc32c = Crc32c(piece, summary.crc32c);
        summary.size += static_cast<int64_t>(piece.size());
      }));
  return summary;
}

}  // namespace gandem
