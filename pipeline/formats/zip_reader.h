// SPDX-License-Identifier: Apache-2.0
//
// Zip archives (PKWARE APPNOTE 6.3.10, with its 64-bit fields), read member by
// member. What a member claims is checked before anything is allocated for it:
// deflate cannot expand as a zip bomb wants, and names are only names, nothing
// is written to a disk.
//
// Owner: the caller. Thread safety: immutable; Read from any thread.
// Errors: those of pipeline/random_access_file.h, with the archive's name
// where Open fails.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/random_access_file.h"

namespace gandem {

// Whether the file begins as a zip archive does; false if it cannot be read.
bool LooksLikeZip(const std::string& path_or_url);
// Whether a file with these first bytes does.
bool BeginsAsZip(absl::string_view start);

// A row of the archive's table of contents.
struct ZipMember {
  std::string name;
  uint16_t method = 0;  // compression method
  uint32_t crc32 = 0;
  uint64_t compressed_bytes = 0;
  uint64_t bytes = 0;
  uint64_t header_offset = 0;
};

class ZipReader {
 public:
  // Reads the table of contents.
  //   DATA_LOSS  no zip archive, damaged, cut off, encrypted, or with a name
  //              twice.
  static absl::StatusOr<ZipReader> Open(
      std::shared_ptr<const RandomAccessFile> file);

  // Members in the order of the table of contents; folders have names that end
  // in '/'.
  const std::vector<ZipMember>& members() const { return members_; }

  // The bytes of one of members().
  //   INVALID_ARGUMENT  more than `max_bytes`.
  //   DATA_LOSS         damaged, compressed otherwise than by deflate, or a
  //                     checksum that does not fit.
  absl::StatusOr<std::string> Read(const ZipMember& member,
                                   int64_t max_bytes) const;

  // The first bytes: `size`, or fewer where the member has fewer. Their
  // checksum is not compared.
  absl::StatusOr<std::string> ReadStart(const ZipMember& member,
                                        int64_t size) const;

 private:
  // Offset of the member's compressed bytes.
  absl::StatusOr<int64_t> BeginOf(const ZipMember& member) const;
  explicit ZipReader(std::shared_ptr<const RandomAccessFile> file)
      : file_(std::move(file)) {}

  absl::Status ReadDirectory();

  std::shared_ptr<const RandomAccessFile> file_;
  std::vector<ZipMember> members_;
};

}  // namespace gandem
