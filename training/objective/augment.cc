// SPDX-License-Identifier: Apache-2.0
#include "training/objective/augment.h"

#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

const AdaFunctions& Ada() {
  static const auto* const extra = new std::vector<AdaFunctions>(ExtraAda());
  GANDEM_CHECK(!extra->empty());  // CheckLosses rejects such a recipe
  return extra->front();
}

}  // namespace

void AddAdaBuffer(const std::optional<AdaOptions>& options,
                  torch::nn::Module& discriminator) {
  if (options.has_value()) Ada().add_buffer(*options, discriminator);
}

std::unique_ptr<AdaController> NewAdaController(
    const std::optional<AdaOptions>& options, torch::nn::Module* discriminator,
    int64_t batch_size) {
  if (!options.has_value()) return nullptr;
  return Ada().new_controller(*options, discriminator, batch_size);
}

at::Tensor Augment(const at::Tensor& images_NCHW, const AugmentOptions& options,
                   const Discriminator& discriminator, const DrawKey& key) {
  if (!options.ada.has_value()) return DiffAugment(images_NCHW, options, key);
  return Ada().augment(images_NCHW, *options.ada, discriminator, key);
}

}  // namespace gandem
