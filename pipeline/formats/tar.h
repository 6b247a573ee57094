// SPDX-License-Identifier: Apache-2.0
//
// Tar archives of many small files (POSIX ustar), written one file after the
// other and read by offset. GNU tar and Python's tarfile read what we write; we
// read what they write, with GNU's and pax's long names and large sizes. Names
// are normal (member_name.h), and nothing is written where they point to.
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

// A file begins with a header of one block, and fills the last of its blocks.
inline constexpr int64_t kTarBlockBytes = 512;

struct TarMember {
  std::string name;
  int64_t offset = 0;  // of its bytes in the archive
  int64_t size = 0;
};

struct TarListing {
  // Regular files in their order, then hard links to them: files with the same
  // bytes.
  std::vector<TarMember> members = {};
  // Symbolic links, hard links to files that are not in the archive, and
  // special files.
  UnusedFiles unused = {};
};

// The names of files and links are normal (member_name.h).
//   DATA_LOSS         damaged, cut off, or no tar archive at all.
//   INVALID_ARGUMENT  a name leads out of the archive.
absl::StatusOr<TarListing> ListTar(const RandomAccessFile& file);

class TarWriter {
 public:
  static absl::StatusOr<TarWriter> Create(const std::string& path);

  // `name` has 1 to 100 bytes.
  absl::Status Add(absl::string_view name, absl::string_view contents);

  // All that was written so far: the header of the next file begins there.
  const FileSummary& written() const { return file_.written(); }

  // Makes the archive complete and survive a crash (the caller syncs the
  // folder). Nothing may be called after it.
  absl::Status Finish();

 private:
  explicit TarWriter(FileWriter file) : file_(std::move(file)) {}

  FileWriter file_;
};

}  // namespace gandem
