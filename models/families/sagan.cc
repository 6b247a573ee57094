// SPDX-License-Identifier: Apache-2.0
//
// SAGAN (Zhang et al. 2019): the ResNet of SNGAN (resnet.h) with spectral norm
// in the generator, too, and self-attention (models.md 3.1, 3.4, 3.5). 32, 64
// or 128 pixels, attention at half the size (128: authors' code has it at 32 x
// 32).
#include "common/config/resnet_plan.h"
#include "models/families/family.h"
#include "models/families/resnet.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using SaganHead = DiscriminatorHead::Kind;

ResnetOptions SaganOptionsFrom(const NetworkConfig& network,
                               const DataShape& data) {
  const SaganConfig& config = network.sagan();
  const int64_t num_classes = ConditionalClasses(data);
  const ResnetPlan plan = PlanOf(config, data.image.height);
  ResnetOptions options;
  options.generator = {
      .channels = plan.generator,
      .noise_dim = plan.noise_dim,
      .num_classes = num_classes,
      .per_class = config.class_norm() == SaganConfig::EMBEDDING,
      .attention_size = plan.attention_size,
      .image_channels = data.image.channels,
      .style = {.norm_eps = config.batch_norm_eps(),
                .spectral_norm = true,
                .spectral_norm_eps = config.spectral_norm_eps()}};
  options.discriminator = {
      .channels = plan.discriminator,
      .num_halving = plan.num_halving,
      .thin = config.thin(),
      .image_size = data.image.height,
      .image_channels = data.image.channels,
      .attention_size = plan.attention_size,
      .block = {.spectral_norm_eps = config.spectral_norm_eps(),
                .rectified_shortcut =
                    config.shortcut() == SnganConfig::RECTIFIED},
      .head = {
          .kind = num_classes > 0 ? SaganHead::kProjection : SaganHead::kPlain,
          .num_classes = num_classes}};
  return options;
}

}  // namespace

NetworkFamily SaganFamily() {
  return MakeFamily<ResnetGenerator, ResnetDiscriminator>(
      {.name = "sagan", .init = WeightInit::kOrthogonal}, &SaganOptionsFrom);
}

}  // namespace gandem
