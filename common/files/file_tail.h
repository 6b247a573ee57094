// SPDX-License-Identifier: Apache-2.0
//
// The end of a file that grows.
//
// Thread safety: any thread. Errors: those of common/files/file.h.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace gandem {

// The last bytes of the file, at most `max_bytes`, none before `first_byte`.
absl::StatusOr<std::string> ReadFileTail(const std::string& path,
                                         int64_t max_bytes,
                                         int64_t first_byte = 0);

}  // namespace gandem
