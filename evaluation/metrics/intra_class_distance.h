// SPDX-License-Identifier: Apache-2.0
//
// Frechet distance within each class, and the mean over the classes: "intra
// FID" of Miyato and Koyama, "cGANs with projection discriminator", ICLR 2018,
// section 4.1. It sees a generator that ignores its labels, or that makes one
// image per class, which the distance of the whole sets hardly does.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace gandem {

struct IntraClassDistance {
  double mean = 0;
  std::vector<double> of_class;
};

// Labels are int64 in [0, num_classes).
//   INVALID_ARGUMENT  shapes that do not fit, a label out of range, or a class
//                     with fewer than 2 rows on one side; names it.
//   DATA_LOSS         NaN or infinity.
absl::StatusOr<IntraClassDistance> ComputeIntraClassDistance(
    const at::Tensor& reference_ND, const at::Tensor& reference_labels_N,
    const at::Tensor& generated_MD, const at::Tensor& generated_labels_M,
    int64_t num_classes);

}  // namespace gandem
