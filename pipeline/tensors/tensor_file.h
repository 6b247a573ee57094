// SPDX-License-Identifier: Apache-2.0
//
// Places of the samples in one shard of tensors: a .safetensors or an .npy
// file, told apart by the first bytes. Only headers and labels are read.
//
// Owner: values. Thread safety: pure functions, except for reading.
// Errors: name the file, and
//   DATA_LOSS         damaged or cut off.
//   INVALID_ARGUMENT  no samples, of other types or shapes; says what there is.
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
  int64_t offset = 0;  // offset of the first sample; others follow
  std::vector<int64_t> labels = {};  // of each sample, or none
  std::string unused_labels = {};    // as ImageStore's
};

// Samples are F16 or F32 [N, channels, height, width], [N, height, width] or
// [N, length], which is of one row. A safetensors file has them in `images`,
// `latents`, `waveforms`, `samples` or `data`, or in its only tensor of such a
// type; whole numbers in `labels`, `label` or `y` are the labels.
absl::StatusOr<TensorFile> ReadTensorFile(const RandomAccessFile& file);

// Sets the labels of `file`. INVALID_ARGUMENT says why they are not used, and
// is no failure; other errors are returned.
absl::Status UseLabels(absl::StatusOr<std::vector<int64_t>> labels,
                       TensorFile& file);

// Reads an .npy of whole numbers [N]. If all numbers are negative, there are no
// labels; otherwise none may be negative.
absl::StatusOr<std::vector<int64_t>> ReadLabelArray(
    const RandomAccessFile& file);

}  // namespace gandem
