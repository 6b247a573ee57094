// SPDX-License-Identifier: Apache-2.0
//
// Safetensors files of tensors whose bytes somebody else appends, piece by
// piece.
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

// As WriteSafetensors in safetensors.h, with the bytes that `append` appends
// for the tensor of that index: as many as it has.
absl::StatusOr<FileSummary> WriteSafetensors(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata,
    absl::FunctionRef<absl::Status(size_t index, FileWriter& writer)> append);

}  // namespace gandem
