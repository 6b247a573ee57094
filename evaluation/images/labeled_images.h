// SPDX-License-Identifier: Apache-2.0
//
// A labeled dataset in memory, as a classifier is trained on it.
//
// Owner: values; tensors are shared. Thread safety: one compute thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/image_shape.h"
#include "pipeline/sources/named_dataset.h"

namespace gandem {

struct LabeledImages {
  at::Tensor images_NCHW;  // uint8
  at::Tensor labels_N;     // int64

  int64_t size() const { return labels_N.size(0); }
  ImageShape shape() const;
  LabeledImages Select(const at::Tensor& indices) const;
};

struct LabeledSplit {
  LabeledImages train;
  LabeledImages test;
  int64_t num_classes = 0;
};

// Images to test on are fitted as dataset.data says; without any every tenth
// image of it is held out.
//   INVALID_ARGUMENT    a label is missing or not in [0, max_classes); images
//                       of one class only, or none to test on.
//   RESOURCE_EXHAUSTED  the images do not fit into 4 GiB.
//   and those of OpenDataset and of reading images.
absl::StatusOr<LabeledSplit> ReadLabeledSplit(const NamedDataset& dataset,
                                              int64_t max_classes);

}  // namespace gandem
