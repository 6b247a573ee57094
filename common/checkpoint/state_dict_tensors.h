// SPDX-License-Identifier: Apache-2.0
//
// The tensors that a state dict's pickle describes, and the layout of
// torch.save() from before PyTorch 1.6, which needs nothing but bytes. A file
// can ask for no more memory than a small multiple of its own size.
//
// Owner: state_dict_file.cc. Thread safety: pure functions.
// Errors:
//   INVALID_ARGUMENT  no dict of names and tensors; a tensor that repeats
//                     elements of its storage, as expand() makes them; or more
//                     than max_bytes.
//   DATA_LOSS         damaged or truncated: a tensor reaches out of its
//                     storage, a name stands twice ...
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

// Tensors may lie in one storage: tied weights are in a file once, and are read
// as often as they have names. So many times the file's bytes are enough.
inline constexpr int64_t kMaxStateDictCopies = 4;

// A tensor whose bytes are elsewhere.
struct TensorPlace {
  DType dtype = DType::kF32;
  std::string storage = {};  // its key
  int64_t offset = 0;        // elements
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};  // elements; as many as in shape
};

// Bytes of a storage, by its key.
using StorageBytes =
    std::function<absl::StatusOr<SharedBytes>(const TensorPlace&)>;

// The tensors of the dict that `pickle` holds, in its order, each row by row;
// together they have at most `max_bytes`.
absl::StatusOr<std::vector<NamedTensor>> ParseStateDict(
    std::span<const std::byte> pickle, const StorageBytes& storage,
    int64_t max_bytes);

// Whether a file that begins with `prefix` (16 bytes or more) has the layout
// from before 1.6.
bool IsPickleStream(absl::string_view prefix);

// The tensors of such a file.
absl::StatusOr<std::vector<NamedTensor>> ParsePickleStream(
    std::span<const std::byte> file);

}  // namespace gandem
