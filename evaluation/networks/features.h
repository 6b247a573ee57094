// SPDX-License-Identifier: Apache-2.0
//
// What a network that sees images makes of them.
//
// Owner: values. Thread safety: any thread.
#pragma once

#include <ATen/core/Tensor.h>

namespace gandem {

// From a network as it gave them; from a FeatureExtractor float64, contiguous,
// on the CPU.
struct Features {
  at::Tensor features_ND = {};
  // Undefined where there are no classes. Up to a constant of each row, and
  // without the bias of the last layer where that is an Inception's.
  at::Tensor logits_NK = {};
};

}  // namespace gandem
