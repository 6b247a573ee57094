// SPDX-License-Identifier: Apache-2.0
//
// Reads IDX files (the format of MNIST and its relatives), plain or
// gzip-compressed: two zero bytes, a type, the number of dimensions, one
// big-endian uint32 for each dimension, then the values. Only unsigned bytes
// (type 0x08) are accepted.
//
// Owner: values; copy or move freely.
// Thread safety: pure functions of the file's content.
// Errors: each names the file and what was expected.
//   those of pipeline/remote/open_file.h  it cannot be opened or read.
//   DATA_LOSS               it is truncated, or its compressed data damaged.
//   INVALID_ARGUMENT        it is not an IDX file of the wanted kind, or
//                           something follows the last value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gandem {

struct IdxArray {
  std::vector<int64_t> shape;   // all >= 1
  std::vector<uint8_t> values;  // row-major
};

// `num_dimensions` is what the caller can use: 3 for images (count, height,
// width), 1 for labels. Nothing is allocated on the word of the header alone.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path_or_url,
                                 int num_dimensions);

// The shape alone: reads the header.
absl::StatusOr<std::vector<int64_t>> ReadIdxShape(
    const std::string& path_or_url, int num_dimensions);

}  // namespace gandem
