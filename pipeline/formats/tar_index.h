// SPDX-License-Identifier: Apache-2.0
//
// The index of a tar that `gandem dataset pack` wrote: its last member, with
// place, size, CRC32C and label of each image, so that opening the archive is
// one read of its end. Other programs take it for a hidden file. As text:
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
// The last line has the offset of the index, the CRC32C of all that is in the
// archive before it, and that of the index up to this line. Names are escaped
// as in C; the label -1 is none.
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
  int64_t offset = 0;  // of its bytes in the archive
  int64_t size = 0;
  uint32_t crc32c = 0;
  int64_t label = -1;  // -1: none

  bool operator==(const IndexedFile&) const = default;
};

struct TarIndex {
  std::vector<IndexedFile> files = {};  // rising offsets
  // Names of the labels from 0 on, if they have names.
  std::vector<std::string> class_names = {};
  // Size and checksum of the archive before the index. ParseTarIndex does not
  // set them.
  int64_t archive_bytes = 0;
  uint32_t archive_crc32c = 0;
};

// Adds the index as the last member; `index` without its archive_ fields.
absl::Status AddTarIndex(const TarIndex& index, TarWriter& tar);

// nullopt: the archive has none.
//   DATA_LOSS  the index is damaged, or does not fit the archive.
//   and those of `file`.
absl::StatusOr<std::optional<TarIndex>> ReadTarIndex(
    const RandomAccessFile& file);

// Parses an index up to its last line; nullopt: it is damaged, or names a file
// that is not within the first `archive_bytes` of the archive.
std::optional<TarIndex> ParseTarIndex(absl::string_view text,
                                      int64_t archive_bytes);

}  // namespace gandem
