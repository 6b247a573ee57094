// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes safetensors files (github.com/huggingface/safetensors): an
// 8-byte header size, a JSON header, the tensors' bytes; all little endian.
// Compatible with Python's safetensors package.
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
// Returns the name in the header: "F32", "BOOL" ...
absl::string_view DTypeName(DType dtype);

struct NamedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // empty: a scalar
  SharedBytes bytes;           // row-major, native byte order
};

// Replaces the file and syncs its contents (the caller syncs the folder). Sorts
// tensors by element size, largest first, so that all are aligned.
//   INVALID_ARGUMENT    a name that is duplicate, "__metadata__" or not UTF-8;
//                       bytes that do not match dtype and shape; more than
//                       65536 tensors or 64 dimensions; lists all
//   RESOURCE_EXHAUSTED  the disk is full; the incomplete file stays
absl::StatusOr<FileSummary> WriteSafetensors(
    const std::string& path, std::span<const NamedTensor> tensors,
    const std::map<std::string, std::string>& metadata);

// Serializes into memory. INVALID_ARGUMENT as for WriteSafetensors.
absl::StatusOr<SharedBytes> SerializeSafetensors(
    std::span<const NamedTensor> tensors);

// Returns aligned tensors in the order of their bytes; empty tensors at one
// position are sorted by name. Takes O(n log n) for any header of n bytes.
//   NOT_FOUND ...  the file cannot be read
//   DATA_LOSS      any violation of the format: a bad header or one above 16
//                  MiB, more than 65536 tensors, an unknown dtype, a shape that
//                  does not match its bytes, bytes that overlap, lie outside of
//                  the file or belong to no tensor (duplicate names included)
absl::StatusOr<std::vector<NamedTensor>> ReadSafetensors(
    const std::string& path);

// Returns the header's metadata. Errors as for ReadSafetensors.
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

// Returns the offset of the tensors' bytes; `start` is the first 8 bytes.
//   DATA_LOSS  `start` is too short, or the size does not fit `file_bytes`
absl::StatusOr<int64_t> SafetensorsHeadBytes(absl::string_view start,
                                             int64_t file_bytes);

// Parses `head`, the first SafetensorsHeadBytes or more of a file of
// `file_bytes` bytes. Order and errors as for ReadSafetensors.
absl::StatusOr<std::vector<SafetensorsPlace>> ParseSafetensorsHead(
    absl::string_view head, int64_t file_bytes);

// Parses a file in memory. The tensors share its bytes if they are aligned.
absl::StatusOr<std::vector<NamedTensor>> ParseSafetensors(
    const SharedBytes& file);

}  // namespace gandem
