// SPDX-License-Identifier: Apache-2.0
//
// The "standard CNN" of the SNGAN paper (Miyato et al. 2018, table 3) for 32
// pixels, in the form of StudioGAN's deep_conv: ReLU throughout, all biases.
//
//   G: noise -> linear 8w@4 -> 4w@8 -> 2w@16 -> w@32 -> image, batch norm
//   D: image -> w@32 -> w@16 -> 2w -> 2w@8 -> 4w -> 4w@4 -> 8w -> sum -> logit,
//      spectral norm in every layer, or batch norm after every convolution
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: none.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily SndcganFamily();

}  // namespace gandem
