// SPDX-License-Identifier: Apache-2.0
//
// Reads files of Python's torch.save() with a state dict: a dict of names and
// tensors. Supports the zip archive of PyTorch 1.6 and later, and the older
// stream of pickles, as used by the published FID weights. Never executes code:
// knows only pickle operations for numbers, strings, containers and tensors.
//
// Thread safety: any thread.
// Errors:
//   those of file.h   the file cannot be read.
//   INVALID_ARGUMENT  the file has no state dict, unsupported types, compressed
//                     records, or tensors larger than four times the file.
//   DATA_LOSS         the file is damaged or truncated.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

// Returns whether a file that begins with `prefix` (at least 16 bytes) is a zip
// archive. IsPickleStream of state_dict_tensors.h detects the older layout.
bool IsZip(absl::string_view prefix);

// Returns whether the zip archive at `path` contains a TorchScript module.
absl::StatusOr<bool> HoldsTorchScript(const std::string& path);

// Returns the tensors in the dict's order, each row-major.
absl::StatusOr<std::vector<NamedTensor>> ReadStateDict(const std::string& path);

}  // namespace gandem
