// SPDX-License-Identifier: Apache-2.0
//
// Index of a tar written by `gandem dataset pack`: its last member, with
// offset, size, CRC32C and label of each image, so that opening needs only one
// read of the archive's end. Other programs see a hidden file. Format:
//
//   gandem tar index 1
//   classes 2
//   cat
//   dog
//   files 1
//   512 3012 0a1b2c3d 1 000000000.jpg        offset, size, CRC32C, label, name
//   (empty lines up to a multiple of 512 bytes)
//   gandem-index 00000000000000004608 01234567 89abcdef
//
// The last line has the offset of the index, the CRC32C of everything before
// it, and that of the index up to this line. Names are escaped as in C.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/formats/tar.h"
#include "pipeline/random_access_file.h"

namespace gandem {

struct IndexedFile {
  std::string name;
  int64_t offset = 0;  // of its data in the archive
  int64_t size = 0;
  uint32_t crc32c = 0;
  int64_t label = -1;  // -1: none

  bool operator==(const IndexedFile&) const = default;
};

struct TarIndex {
  std::vector<IndexedFile> files = {};  // rising offsets
  // Names of labels 0, 1, ..., if they have names.
  std::vector<std::string> class_names = {};
  // Size and checksum before the index; not set by ParseTarIndex.
  int64_t archive_bytes = 0;
  uint32_t archive_crc32c = 0;
};

// Adds the index as the last member; ignores the archive_ fields.
absl::Status AddTarIndex(const TarIndex& index, TarWriter& tar);

// Returns nullopt if the archive has no index.
//   DATA_LOSS  the index is damaged or does not fit the archive.
//   and the errors of `file`.
absl::StatusOr<std::optional<TarIndex>> ReadTarIndex(
    const RandomAccessFile& file);

// Parses an index without its last line. Returns nullopt if it is damaged or
// names a file outside the first `archive_bytes` of the archive.
std::optional<TarIndex> ParseTarIndex(absl::string_view text,
                                      int64_t archive_bytes);

}  // namespace gandem
