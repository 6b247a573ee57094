// SPDX-License-Identifier: Apache-2.0
//
// Arrays in numpy's .npy format (numpy.lib.format, versions 1 to 3), in memory,
// such as members of an .npz archive.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

// Returns a row-major array without a name, whatever the order in `file`.
//   INVALID_ARGUMENT  an unsupported dtype, such as text or objects.
//   DATA_LOSS         the file violates the format.
absl::StatusOr<NamedTensor> ParseNpy(std::string file);

struct NpyLayout {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape = {};
  bool fortran_order = false;  // set only with two or more dimensions
  uint64_t header_bytes = 0;
  uint64_t data_bytes = 0;
};

// Parses the beginning of a file without the data. Errors as in ParseNpy.
absl::StatusOr<NpyLayout> ParseNpyLayout(absl::string_view begin);

// Leading bytes that ParseNpyStart needs, unless the file is shorter.
inline constexpr int64_t kNpyStartBytes = (1 << 16) + 16;

// Parses the start of a file and checks that `file_bytes` fits the array.
absl::StatusOr<NpyLayout> ParseNpyStart(absl::string_view start,
                                        uint64_t file_bytes);

struct NpyHeader {
  std::string text;         // everything before the data
  uint64_t data_bytes = 0;  // bytes that must follow, row-major
};

//   INVALID_ARGUMENT  bfloat16, which numpy does not support; a bad shape.
absl::StatusOr<NpyHeader> MakeNpyHeader(DType dtype,
                                        std::span<const int64_t> shape);

}  // namespace gandem
