// SPDX-License-Identifier: Apache-2.0
//
// Files that may be gzip-compressed (RFC 1952); their first two bytes tell.
// Several members one after the other are one file; what follows them and is
// none is ignored, as by gzip.
//
// Thread safety: pure functions, except for reading.
// Errors: those of the file, and
//   DATA_LOSS  the compressed data are truncated or damaged.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/random_access_file.h"

namespace gandem {

// The first bytes of what `file` holds or unpacks to: `most`, or all where it
// is shorter.
absl::StatusOr<std::vector<uint8_t>> Unpacked(const RandomAccessFile& file,
                                              int64_t most);

}  // namespace gandem
