// SPDX-License-Identifier: Apache-2.0
//
// Tar archives of many small files (POSIX ustar), written sequentially and read
// by offset. Compatible with GNU tar and Python's tarfile, including GNU's and
// pax's long names and large sizes. Names are normalized (member_name.h);
// nothing is extracted to a disk.
//
// Owner: the caller. Thread safety: one thread per object; functions are pure.
// Errors: those of common/files/file.h and pipeline/random_access_file.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/files/file_writer.h"
#include "pipeline/random_access_file.h"
#include "pipeline/unused_files.h"

namespace gandem {

// A file begins with a header block and is padded to whole blocks.
inline constexpr int64_t kTarBlockBytes = 512;

struct TarMember {
  std::string name;
  int64_t offset = 0;  // of its data in the archive
  int64_t size = 0;
};

struct TarListing {
  // Regular files in order, followed by hard links as files with the same data.
  std::vector<TarMember> members = {};
  // Symbolic links, hard links to missing files, and special files.
  UnusedFiles unused = {};
};

// Names of files and links are normalized.
//   DATA_LOSS         damaged, truncated, or not a tar archive.
//   INVALID_ARGUMENT  a name leads out of the archive.
absl::StatusOr<TarListing> ListTar(const RandomAccessFile& file);

class TarWriter {
 public:
  static absl::StatusOr<TarWriter> Create(const std::string& path);

  // `name` has 1 to 100 bytes.
  absl::Status Add(absl::string_view name, absl::string_view contents);

  // Summary of the bytes so far; the next header begins there.
  const FileSummary& written() const { return file_.written(); }

  // Completes and syncs the archive (the caller syncs the folder).
  absl::Status Finish();

 private:
  explicit TarWriter(FileWriter file) : file_(std::move(file)) {}

  FileWriter file_;
};

}  // namespace gandem
