// SPDX-License-Identifier: Apache-2.0
//
// Fully connected networks on flattened images: linear layers with LeakyReLU
// 0.2 between them; the generator ends in tanh (Goodfellow et al. 2014, with
// the slope of later practice). With batch_norm the generator is PyTorch-GAN's:
// batch norm before every activation but the first (models.md 3.13).
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: INVALID_ARGUMENT for images of more than 2^24 values.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily MlpFamily();

}  // namespace gandem
