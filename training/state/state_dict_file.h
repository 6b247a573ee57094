// SPDX-License-Identifier: Apache-2.0
//
// Reads files of Python's torch.save() that hold a state dict: a dict of names
// and tensors. Both layouts are read, the zip archive of PyTorch 1.6 and later
// and the stream of pickles from before, which the published FID weights use.
// Nothing of the file is executed: of pickle's operations only those that
// describe numbers, texts, containers and tensors are known.
//
// Thread safety: any thread.
// Errors:
//   those of file.h   it cannot be read.
//   INVALID_ARGUMENT  it holds something else, or tensors of another type; it
//   is
//                     compressed, or its tensors have more than four times its
//                     bytes.
//   DATA_LOSS         it is damaged or truncated.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

// Whether a file that begins with `prefix` (16 bytes or more) is a zip archive.
// IsPickleStream of state_dict_tensors.h knows the layout from before.
bool IsZip(absl::string_view prefix);

// Whether the zip archive at `path` holds a TorchScript module.
absl::StatusOr<bool> HoldsTorchScript(const std::string& path);

// The tensors in the dict's order, each row by row.
absl::StatusOr<std::vector<NamedTensor>> ReadStateDict(const std::string& path);

}  // namespace gandem
