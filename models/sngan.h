// SPDX-License-Identifier: Apache-2.0
//
// The unconditional ResNet of the SNGAN paper (Miyato et al. 2018, table 4) for
// 32 pixels, with the constants of the authors' code. The discriminator's
// shortcuts see the raw input of their block, as in the paper; some later code
// rectifies it by accident (models.md T1).
//
//   G: noise -> linear 4w@4 -> 3 blocks of 4w, each doubling -> batch norm,
//      ReLU, conv3x3, tanh
//   D: image -> 2w@16 -> 2w@8 -> 2w@8 -> 2w@8 -> ReLU, sum, linear; spectral
//      norm in every layer
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/network.h"

namespace gandem {

struct SnganOptions {
  int64_t width = 64;       // w; >= 1
  int64_t noise_dim = 128;  // generator only; >= 1
  int64_t image_channels = 3;
};

std::shared_ptr<Generator> MakeSnganGenerator(const SnganOptions& options);
std::shared_ptr<Discriminator> MakeSnganDiscriminator(
    const SnganOptions& options);

}  // namespace gandem
