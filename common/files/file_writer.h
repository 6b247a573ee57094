// SPDX-License-Identifier: Apache-2.0
//
// Writes a file piece by piece and computes the CRC32C of its contents.
//
// Owner: the function that writes. Thread safety: one thread.
// Errors: those of file.h. After an error the file is incomplete, and the
// caller removes it.
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
  // Creates the file, or truncates an existing one.
  static absl::StatusOr<FileWriter> Create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  absl::Status Append(std::span<const std::byte> bytes);
  absl::Status Append(absl::string_view text);

  const FileSummary& written() const { return written_; }

  // Makes the contents survive a crash; the caller syncs the folder.
  absl::Status Sync();

  // Closes the file. No function may be called afterwards.
  absl::StatusOr<FileSummary> Close();

 private:
  FileWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // -1: closed or moved from
  FileSummary written_;
};

absl::StatusOr<FileSummary> SummarizeFile(const std::string& path);

}  // namespace gandem
