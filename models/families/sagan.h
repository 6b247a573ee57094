// SPDX-License-Identifier: Apache-2.0
//
// SAGAN (Zhang et al. 2019): the ResNet of SNGAN (resnet.h) with spectral norm
// in the generator, too, and self-attention (models.md 3.1, 3.4, 3.5). 32, 64
// or 128 pixels, attention at half the size (128: authors' code has it at 32 x
// 32).
//
// Owner: the registry. Thread safety: any thread.
// Errors: INVALID_ARGUMENT where options do not fit each other.
#pragma once

#include "models/families/family.h"

namespace gandem {

NetworkFamily SaganFamily();

}  // namespace gandem
