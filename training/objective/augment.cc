// SPDX-License-Identifier: Apache-2.0
#include "training/objective/augment.h"

#include "models/torch.h"
#include "training/objective/ada_pipeline.h"
#include "training/objective/ada_probability.h"

namespace gandem {

at::Tensor Augment(const at::Tensor& images_NCHW, const AugmentOptions& options,
                   const Discriminator& discriminator, const DrawKey& key) {
  if (!options.ada.has_value()) return DiffAugment(images_NCHW, options, key);
  const double p = AdaProbabilityOf(*options.ada, discriminator);
  if (p == 0) return images_NCHW;
  return AdaAugment(images_NCHW, p,
                    UniformDraws(key, images_NCHW.size(0), kAdaDraws));
}

}  // namespace gandem
