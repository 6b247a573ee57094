// SPDX-License-Identifier: Apache-2.0
//
// What a config asks of augmentation (diff_augment.h, ada_pipeline.h), for all
// that a discriminator sees.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/network.h"
#include "training/objective/diff_augment.h"

namespace gandem {

// As `discriminator` sees them: ADA's probability is its own
// (ada_probability.h). The gradient passes through.
at::Tensor Augment(const at::Tensor& images_NCHW, const AugmentOptions& options,
                   const Discriminator& discriminator, const DrawKey& key);

}  // namespace gandem
