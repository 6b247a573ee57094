// SPDX-License-Identifier: Apache-2.0
//
// Writes a file piece by piece, with the CRC32C of what was written.
//
// Owner: the function that writes. Thread safety: one thread.
// Errors: those of file.h. After one the file is incomplete; it is the caller's
// to remove.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

struct FileSummary {
  int64_t size = 0;
  uint32_t crc32c = 0;
  bool operator==(const FileSummary&) const = default;
};

class FileWriter {
 public:
  // Creates or empties the file.
  static absl::StatusOr<FileWriter> Create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  absl::Status Append(std::span<const std::byte> bytes);
  absl::Status Append(absl::string_view text);

  // So far.
  const FileSummary& written() const { return written_; }

  // Makes the contents survive a crash; the caller syncs the folder.
  absl::Status Sync();

  // Closes; nothing may be called after it.
  absl::StatusOr<FileSummary> Close();

 private:
  FileWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // -1: closed or moved from
  FileSummary written_;
};

// Reads the whole file.
absl::StatusOr<FileSummary> SummarizeFile(const std::string& path);

}  // namespace gandem
