// SPDX-License-Identifier: Apache-2.0
//
// The 64-pixel ResNet of WGAN-GP (Gulrajani et al. 2017, appendix F, "Good" in
// the authors' gan_64x64.py): no image sees another one in the critic.
//
//   G: linear 8w@4 -> blocks 8w@8 -> 4w@16 -> 2w@32 -> w@64 -> batch norm,
//   ReLU,
//      conv3x3, tanh
//   D: conv3x3 w@64 -> blocks 2w@32 -> 4w@16 -> 8w@8 -> 8w@4 -> linear over all
//      features; layer norm over channels and pixels, hidden layers as wide as
//      the input of their block, shortcuts that average first
//
// The first convolution of every block has no bias.
//
// Owner: the caller. Thread safety: one compute thread. Errors: none.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily WganGpFamily();

}  // namespace gandem
