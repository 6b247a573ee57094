// SPDX-License-Identifier: Apache-2.0
//
// The safetensors format (github.com/huggingface/safetensors): an 8-byte header
// size, a JSON header, the tensors' bytes; all little endian. Files go both
// ways between gandem and Python's safetensors package.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/files/file_writer.h"
#include "common/shared_bytes.h"

namespace gandem {

enum class DType { kF32, kF64, kF16, kBF16, kI64, kI32, kU8, kBool };

int64_t BytesPerElement(DType dtype);
// As in the header: "F32", "BOOL" ...
absl::string_view DTypeName(DType dtype);

struct NamedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // empty: a scalar
  SharedBytes bytes;           // row-major, in the machine's order
};

// Replaces the file and makes its contents survive a crash (the caller syncs
// the folder). Tensors of wide elements come first, so that all are aligned.
//   INVALID_ARGUMENT    a name twice, "__metadata__" or not UTF-8; bytes that
//                       do not fit dtype and shape; more than 65536 tensors
//                       or 64 dimensions. Lists all.
//   RESOURCE_EXHAUSTED  the disk is full; the incomplete file stays.
absl::StatusOr<FileSummary> WriteSafetensors(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata);

// The same bytes in memory. INVALID_ARGUMENT as above.
absl::StatusOr<SharedBytes> SerializeSafetensors(
    std::span<const NamedTensor> tensors);

// The tensors in the order of their bytes, empty ones of one place by name.
// Each is aligned to its elements. Takes O(n log n) of the header's size n,
// whatever it says.
//   NOT_FOUND ...  the file cannot be read.
//   DATA_LOSS      anything that is not exactly as the format says: the header
//                  (at most 16 MiB), more than 65536 tensors, a dtype of none
//                  of the above, a shape that does not fit its bytes, bytes
//                  that overlap, belong to no tensor (those of the first of two
//                  equal names, too) or lie outside of the file.
absl::StatusOr<std::vector<NamedTensor>> ReadSafetensors(
    const std::string& path);

// The metadata of the header; empty where there is none. Errors as above.
absl::StatusOr<std::map<std::string, std::string>> ReadSafetensorsMetadata(
    const std::string& path);

// Location of a tensor in a file that is read in pieces.
struct SafetensorsPlace {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // empty: a scalar
  int64_t begin = 0;           // in the file
  int64_t end = 0;             // one after its last byte
};

// How many bytes a file has before those of its tensors, by its first 8 bytes.
//   DATA_LOSS  `start` is shorter, or they do not fit `file_bytes`.
absl::StatusOr<int64_t> SafetensorsHeadBytes(absl::string_view start,
                                             int64_t file_bytes);

// The tensors of a file of `file_bytes` bytes, of which `head` has
// SafetensorsHeadBytes or more. In the order and with the errors of
// ReadSafetensors.
absl::StatusOr<std::vector<SafetensorsPlace>> ParseSafetensorsHead(
    absl::string_view head, int64_t file_bytes);

// The tensors of bytes in memory, whose ownership they share where they can.
absl::StatusOr<std::vector<NamedTensor>> ParseSafetensors(
    const SharedBytes& file);

}  // namespace gandem
