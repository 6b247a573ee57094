// SPDX-License-Identifier: Apache-2.0
//
// Reads files that may be gzip-compressed (RFC 1952), as detected by the first
// two bytes. Joins concatenated members and ignores trailing garbage, as gzip.
//
// Thread safety: pure functions, except for reading files.
// Errors: those of the file, and
//   DATA_LOSS  the compressed data are truncated or damaged.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/random_access_file.h"

namespace gandem {

// Returns the first `most` bytes (fewer if there are fewer) of the content of
// `file`, decompressed if necessary.
absl::StatusOr<std::vector<uint8_t>> Unpacked(const RandomAccessFile& file,
                                              int64_t most);

}  // namespace gandem
