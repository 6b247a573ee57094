// SPDX-License-Identifier: Apache-2.0
//
// Reads zip archives (PKWARE APPNOTE 6.3.10, with 64-bit fields) member by
// member. Checks sizes against the limits of deflate before allocating, which
// stops zip bombs. Nothing is extracted to a disk.
//
// Owner: the caller. Thread safety: immutable; Read from any thread. Errors:
// those of pipeline/random_access_file.h, with the archive's name in Open.
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

// Returns whether the file begins as a zip archive; false if it cannot be read.
bool LooksLikeZip(const std::string& path_or_url);
bool BeginsAsZip(absl::string_view start);

// An entry of the table of contents.
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
  //   DATA_LOSS  not a zip archive, damaged, truncated, encrypted, or with
  //              duplicate names.
  static absl::StatusOr<ZipReader> Open(
      std::shared_ptr<const RandomAccessFile> file);

  // Members in the order of the table of contents. Names of folders end in '/'.
  const std::vector<ZipMember>& members() const { return members_; }

  // Reads one of members().
  //   INVALID_ARGUMENT  more than `max_bytes`.
  //   DATA_LOSS         damaged, compressed other than by deflate, or a wrong
  //                     checksum.
  absl::StatusOr<std::string> Read(const ZipMember& member,
                                   int64_t max_bytes) const;

  // Reads up to `size` leading bytes without verifying the checksum.
  absl::StatusOr<std::string> ReadStart(const ZipMember& member,
                                        int64_t size) const;

 private:
  // Returns the offset of the member's compressed data.
  absl::StatusOr<int64_t> BeginOf(const ZipMember& member) const;
  explicit ZipReader(std::shared_ptr<const RandomAccessFile> file)
      : file_(std::move(file)) {}

  absl::Status ReadDirectory();

  std::shared_ptr<const RandomAccessFile> file_;
  std::vector<ZipMember> members_;
};

}  // namespace gandem
