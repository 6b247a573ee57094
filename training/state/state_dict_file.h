// SPDX-License-Identifier: Apache-2.0
//
// Reads files of Python's torch.save() that hold a state dict: a dict of names
// and tensors. Supports both layouts: the zip archive of PyTorch 1.6 and later,
// and the older stream of pickles, which the published FID weights use. No code
// in the file is executed: the reader knows only the pickle operations for
// numbers, strings, containers and tensors.
//
// Thread safety: any thread.
// Errors:
//   those of file.h   the file cannot be read.
//   INVALID_ARGUMENT  the file holds no state dict, unsupported types or
//                     compressed records, or its tensors have more than four
//                     times its bytes.
//   DATA_LOSS         the file is damaged or truncated.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

// True if a file that begins with `prefix` (at least 16 bytes) is a zip
// archive. IsPickleStream of state_dict_tensors.h detects the older layout.
bool IsZip(absl::string_view prefix);

// True if the zip archive at `path` holds a TorchScript module.
absl::StatusOr<bool> HoldsTorchScript(const std::string& path);

// The tensors in the dict's order, each in row-major order.
absl::StatusOr<std::vector<NamedTensor>> ReadStateDict(const std::string& path);

}  // namespace gandem
