// SPDX-License-Identifier: Apache-2.0
//
// Weights of a FID Inception and images, drawn as
// tests/oracles/feature_goldens.py draws them.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "common/checkpoint/safetensors.h"

namespace gandem::testing {

// All tensors of pytorch-fid's and torch-fidelity's state dict, 95 MB.
std::vector<NamedTensor> DrawInceptionWeights();

// uint8 images of the golden's case number `place`.
at::Tensor DrawImages(std::vector<int64_t> shape_NCHW, uint64_t place);

}  // namespace gandem::testing
