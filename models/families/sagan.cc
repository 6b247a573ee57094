// SPDX-License-Identifier: Apache-2.0
//
// SAGAN (Zhang et al. 2019): SNGAN's ResNet (resnet.h) with spectral norm also
// in the generator, and self-attention (models.md 3.1, 3.4, 3.5). Supports 32,
// 64 and 128 pixels. Attention is at half the size (authors, 128: at 32 x 32).
#include "models/families/family.h"
#include "models/families/resnet.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

ResnetOptions SaganOptionsFrom(const NetworkConfig& network,
                               const DataShape& data) {
  const SaganConfig& config = network.sagan();
  return {.plan = PlanOf(config, data.image.height),
          .image = data.image,
          .num_classes = ConditionalClasses(data),
          .per_class = config.class_norm() == SaganConfig::EMBEDDING,
          .style = {.norm_eps = config.batch_norm_eps(),
                    .spectral_norm = true,
                    .spectral_norm_eps = config.spectral_norm_eps()},
          .thin = config.thin(),
          .block = {.spectral_norm_eps = config.spectral_norm_eps(),
                    .rectified_shortcut =
                        config.shortcut() == SnganConfig::RECTIFIED},
          .head = {.kind = DiscriminatorHead::Kind::kProjection}};
}

}  // namespace

NetworkFamily SaganFamily() {
  return MakeFamily<ResnetGenerator, ResnetDiscriminator>(
      {.name = "sagan", .init = WeightInit::kOrthogonal}, &SaganOptionsFrom);
}

}  // namespace gandem
