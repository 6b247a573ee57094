// SPDX-License-Identifier: Apache-2.0
//
// pix2pix (Isola et al. 2017) with the layers of its authors' PyTorch code
// (models.md 3.12), for square images of 2^n >= 32 pixels.
//
//   G: U-Net of n levels on Condition::images_NCHW: convolutions halve down to
//      one pixel, w, 2w, 4w, 8w ... 8w; transposed ones double back, each on
//      the concatenation of its level's images and what comes from below;
//      dropout in the n - 5 levels above the innermost; tanh. Noise is dropout
//      alone.
//   D: PatchGAN on the concatenation of the image that was translated and the
//      other one: w@/2, 2w@/4, 4w@/8, 8w, a logit for each patch of 70x70
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: INVALID_ARGUMENT for a dropout of 1.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily Pix2pixFamily();

}  // namespace gandem
