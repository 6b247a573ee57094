// SPDX-License-Identifier: Apache-2.0
//
// Output of a network that sees images.
//
// Owner: values. Thread safety: any thread.
#pragma once

#include <ATen/core/Tensor.h>

namespace gandem {

// A network returns any type; a FeatureExtractor returns float64, contiguous,
// on the CPU.
struct Features {
  at::Tensor features_ND = {};
  // Undefined without classes. Correct up to a constant per row; without the
  // bias of the last layer for an Inception.
  at::Tensor logits_NK = {};
};

}  // namespace gandem
