// SPDX-License-Identifier: Apache-2.0
//
// Tar archives of many small files (POSIX ustar), written one file after the
// other and read by offset. GNU tar and Python's tarfile read what we write; we
// read what they write, long names left unresolved (their order is what
// counts).
//
// Owner: the caller. Thread safety: one thread per object.
// Errors: those of common/files/file.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/files/file_writer.h"

namespace gandem {

struct TarMember {
  std::string name;
  int64_t offset = 0;  // of its bytes in the archive
  int64_t size = 0;
};

// Regular files in their order.
//   DATA_LOSS  damaged, cut off, or no tar archive at all.
absl::StatusOr<std::vector<TarMember>> ListTar(const std::string& path);

// The member's bytes.
//   DATA_LOSS  the archive has become shorter.
absl::StatusOr<std::string> ReadTarMember(const std::string& path,
                                          const TarMember& member);

class TarWriter {
 public:
  static absl::StatusOr<TarWriter> Create(const std::string& path);

  // `name` has 1 to 100 bytes.
  absl::Status Add(absl::string_view name, absl::string_view contents);

  // Makes the archive complete and survive a crash (the caller syncs the
  // folder). Nothing may be called after it.
  absl::Status Finish();

 private:
  explicit TarWriter(FileWriter file) : file_(std::move(file)) {}

  FileWriter file_;
};

}  // namespace gandem
