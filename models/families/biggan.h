// SPDX-License-Identifier: Apache-2.0
//
// BigGAN and BigGAN-deep (Brock et al. 2019) on resnet.h: the generator's norms
// are told a shared embedding of the label and a part of the noise (deep: all
// of it), spectral norm and self-attention in both networks (models.md 3.2
// to 3.5, 3.7). ContraGAN (Kang and Park 2020) and ReACGAN (Kang et al. 2021)
// are its generator and a discriminator with head: CONTRASTIVE.
//
// 32 to 1024 pixels; 1024 continues the channels of 512, nobody has published
// it. BigGAN-deep: 32, 128, 256.
//
// Owner: the registry. Thread safety: any thread.
// Errors: INVALID_ARGUMENT where options do not fit each other.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily BigganFamily();

}  // namespace gandem
