// SPDX-License-Identifier: Apache-2.0
//
// One array in numpy's .npy format (numpy.lib.format, versions 1 to 3), in
// memory: what an .npz archive has members of.
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

// Row-major, whatever `file` has; without a name.
//   INVALID_ARGUMENT  a dtype of none of ours, such as text or objects.
//   DATA_LOSS         not exactly as the format says.
absl::StatusOr<NamedTensor> ParseNpy(std::string file);

// Contents of the header before the data of an array.
struct NpyLayout {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape = {};
  bool fortran_order = false;  // set only with two or more dimensions
  uint64_t header_bytes = 0;
  uint64_t data_bytes = 0;
};

// Parses the beginning of a file; the data may be missing. Errors as in
// ParseNpy.
absl::StatusOr<NpyLayout> ParseNpyLayout(absl::string_view begin);

// Bytes from the start of a file that ParseNpyStart needs. The file may be
// shorter.
inline constexpr int64_t kNpyStartBytes = (1 << 16) + 16;

// Parses the start of a file of `file_bytes` bytes, which must be the size of
// the array.
absl::StatusOr<NpyLayout> ParseNpyStart(absl::string_view start,
                                        uint64_t file_bytes);

struct NpyHeader {
  std::string text;         // all that stands before the data
  uint64_t data_bytes = 0;  // bytes that have to follow, row-major
};

//   INVALID_ARGUMENT  bfloat16, which numpy does not have; a bad shape.
absl::StatusOr<NpyHeader> MakeNpyHeader(DType dtype,
                                        std::span<const int64_t> shape);

}  // namespace gandem
