// SPDX-License-Identifier: Apache-2.0
//
// DCGAN, SNGAN and WGAN-GP at 64 pixels of "Performance characterization of
// GANs and multi-GANs" (B. Vemparala Narayana Murthy, 2021): Keras' layers, all
// with biases, LeakyReLU 0.2 in both networks (models.md 3.8).
//
//   G: noise -> linear 2w -> 8w@4 -> 4w@8 -> 2w@16 -> w@32 -> image, tanh
//   D: image -> w@32 -> 2w@16 -> 4w@8 -> 8w@4 -> dropout -> linear
//
//   form     G                            D
//   DCGAN    batch norm                   batch norm but in the first layer
//   SNGAN    spectral norm, and one       spectral norm in 2w and 4w; 8w has no
//            batch norm (2w)              activation and goes on to 4w@2
//   WGAN_GP  as DCGAN                     layer norm over channels, same places
//
// Where the report's code is at odds with the papers (no normalization takes
// effect, a critic with a sigmoid) this is what the papers mean. Spectral norm
// is re-parametrized, as in PyTorch, so its vectors differ from the report's.
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: INVALID_ARGUMENT for a dropout of 1.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily KerasDcganFamily();

}  // namespace gandem
