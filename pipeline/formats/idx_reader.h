// SPDX-License-Identifier: Apache-2.0
//
// Reads IDX files (the format of MNIST), plain or gzip-compressed: two zero
// bytes, a type, the number of dimensions, a big-endian uint32 per dimension,
// then the values. Only unsigned bytes (type 0x08) are supported.
//
// Owner: values; copy or move freely.
// Thread safety: pure functions of the file's content.
// Errors name the file and the expected content:
//   those of pipeline/remote/open_file.h  it cannot be opened or read.
//   DATA_LOSS         the file is truncated, or its compressed data damaged.
//   INVALID_ARGUMENT  not an IDX file of the requested kind, or bytes follow
//                     the last value.
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

// `num_dimensions` is the required number: 3 for images (count, height, width),
// 1 for labels. Never allocates memory on the word of the header alone.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path_or_url,
                                 int num_dimensions);

// Reads only the header.
absl::StatusOr<std::vector<int64_t>> ReadIdxShape(
    const std::string& path_or_url, int num_dimensions);

}  // namespace gandem
