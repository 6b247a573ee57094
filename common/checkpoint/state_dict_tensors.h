// SPDX-License-Identifier: Apache-2.0
//
// Parses the tensors of a pickled state dict, and files of torch.save() before
// PyTorch 1.6. Memory is limited to a small multiple of the file's size.
//
// Owner: state_dict_file.cc. Thread safety: pure functions.
// Errors:
//   INVALID_ARGUMENT  not a dict of names and tensors; a tensor that repeats
//                     elements of its storage, as from expand(); or more than
//                     max_bytes
//   DATA_LOSS         damaged or truncated: a tensor exceeds its storage, a
//                     duplicate name ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

// Limit of the total size of tensors, in multiples of the file's bytes. Tied
// weights share a storage but are read once per name.
inline constexpr int64_t kMaxStateDictCopies = 4;

// Location of a tensor's bytes in a storage.
struct TensorPlace {
  DType dtype = DType::kF32;
  std::string storage = {};  // key of the storage
  int64_t offset = 0;        // elements
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};  // elements; as many as in shape
};

// Returns the bytes of a storage.
using StorageBytes =
    std::function<absl::StatusOr<SharedBytes>(const TensorPlace&)>;

// Returns the tensors of a pickled dict in its order, each row-major, with at
// most `max_bytes` in total.
absl::StatusOr<std::vector<NamedTensor>> ParseStateDict(
    std::span<const std::byte> pickle, const StorageBytes& storage,
    int64_t max_bytes);

// Returns whether a file starts (16 bytes) like those before PyTorch 1.6.
bool IsPickleStream(absl::string_view prefix);

// Parses a file for which IsPickleStream is true.
absl::StatusOr<std::vector<NamedTensor>> ParsePickleStream(
    std::span<const std::byte> file);

}  // namespace gandem
