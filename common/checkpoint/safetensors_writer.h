// SPDX-License-Identifier: Apache-2.0
//
// Writes safetensors files whose tensor bytes are appended by a callback.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file_writer.h"

namespace gandem {

// Writes a file like WriteSafetensors in safetensors.h. `append` must append
// exactly the bytes of tensor `index`.
absl::StatusOr<FileSummary> WriteSafetensors(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata,
    absl::FunctionRef<absl::Status(size_t index, FileWriter& writer)> append);

}  // namespace gandem
