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

#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

// Row-major, whatever `file` has; without a name.
//   INVALID_ARGUMENT  a dtype of none of ours, such as text or objects.
//   DATA_LOSS         not exactly as the format says.
absl::StatusOr<NamedTensor> ParseNpy(std::string file);

struct NpyHeader {
  std::string text;         // all that stands before the data
  uint64_t data_bytes = 0;  // that have to follow, row-major
};

//   INVALID_ARGUMENT  bfloat16, which numpy does not have; a bad shape.
absl::StatusOr<NpyHeader> MakeNpyHeader(DType dtype,
                                        std::span<const int64_t> shape);

}  // namespace gandem
