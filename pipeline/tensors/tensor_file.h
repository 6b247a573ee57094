// SPDX-License-Identifier: Apache-2.0
//
// Locates the samples in a shard of tensors, a .safetensors or .npy file, as
// detected by the first bytes. Reads only headers and labels.
//
// Owner: values. Thread safety: pure functions, except for reading.
// Errors: name the file, and
//   DATA_LOSS         damaged or truncated.
//   INVALID_ARGUMENT  no samples, or unsupported types or shapes; lists the
//                     content.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"
#include "pipeline/random_access_file.h"

namespace gandem {

struct TensorFile {
  StoredFormat format = {};
  int64_t size = 0;    // samples, at least 1
  int64_t offset = 0;  // of the first sample, in bytes; samples are contiguous
  std::vector<int64_t> labels = {};  // one per sample; or empty
  std::string unused_labels = {};    // as SourceInfo::unused_labels
};

// Samples are F16 or F32 [N, channels, height, width], [N, height, width] or
// [N, length] (one row). In a safetensors file they are the tensor `images`,
// `latents`, `waveforms`, `samples` or `data`, or else the only tensor of such
// a type. Labels are integers in `labels`, `label` or `y`.
absl::StatusOr<TensorFile> ReadTensorFile(const RandomAccessFile& file);

// Sets the labels of `file`. INVALID_ARGUMENT only sets unused_labels.
absl::Status UseLabels(absl::StatusOr<std::vector<int64_t>> labels,
                       TensorFile& file);

// Reads an .npy of nonnegative integers [N]; all negative: no labels.
absl::StatusOr<std::vector<int64_t>> ReadLabelArray(
    const RandomAccessFile& file);

}  // namespace gandem
