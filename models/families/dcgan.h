// SPDX-License-Identifier: Apache-2.0
//
// DCGAN (Radford, Metz and Chintala 2016) in the form of PyTorch's example: 4x4
// kernels, no convolution biases, batch norm everywhere but at the images and
// the logit. Tensor names are the example's ("main.0.weight" ...), so its
// checkpoints fit. For 32 pixels one stage less:
//
//   G 64: noise -> 8w@4 -> 4w@8 -> 2w@16 -> w@32 -> image, ReLU, tanh
//   D 64: image -> w@32 -> 2w@16 -> 4w@8 -> 8w@4 -> logit, LeakyReLU 0.2
//   G 32: noise -> 4w@4 -> 2w@8 -> w@16 -> image; D 32 alike
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: none.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily DcganFamily();

}  // namespace gandem
