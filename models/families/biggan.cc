// SPDX-License-Identifier: Apache-2.0
//
// BigGAN and BigGAN-deep (Brock et al. 2019) on resnet.h. The generator's norms
// receive a shared embedding of the label and a part of the noise (BigGAN-deep:
// all of it). Both networks have spectral norm and self-attention (models.md
// 3.2 to 3.5, 3.7). ContraGAN (Kang and Park 2020) and ReACGAN (Kang et al.
// 2021) combine BigGAN's generator with a discriminator with head: CONTRASTIVE.
//
// BigGAN supports 32 to 1024 pixels. 1024 continues the channels of 512 and is
// unpublished. BigGAN-deep supports 32, 128 and 256.
#include "models/families/family.h"
#include "models/families/resnet.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using BigganHead = DiscriminatorHead::Kind;
using BigganNoise = ResnetOptions::Noise;

DiscriminatorHead::Options HeadFrom(const BigganConfig& config,
                                    int64_t features) {
  if (config.head() == BigganConfig::PROJECTION) {
    return {.kind = BigganHead::kProjection};
  }
  return {.kind = BigganHead::kContrastive,
          .embedding_dim =
              config.embedding_dim() > 0 ? config.embedding_dim() : features};
}

ResnetOptions BigganOptionsFrom(const NetworkConfig& network,
                                const DataShape& data) {
  const BigganConfig& config = network.biggan();
  const int64_t num_classes = ConditionalClasses(data);
  const ResnetPlan plan = PlanOf(config, data.image.height);
  return {.plan = plan,
          .image = data.image,
          .num_classes = num_classes,
          .mixing_shortcut = config.form() == BigganConfig::DEEP_MIXING,
          .noise = plan.noise_in_chunks ? BigganNoise::kChunks
                                        : BigganNoise::kEverywhere,
          .class_dim = num_classes > 0 ? config.class_dim() : 0,
          .style = {.norm_eps = config.batch_norm_eps(),
                    .spectral_norm = true,
                    .spectral_norm_eps = config.spectral_norm_eps()},
          .block = {.spectral_norm_eps = config.spectral_norm_eps(),
                    .rectified_shortcut =
                        config.shortcut() == SnganConfig::RECTIFIED},
          .head = HeadFrom(config, plan.discriminator.back())};
}

}  // namespace

NetworkFamily BigganFamily() {
  return MakeFamily<ResnetGenerator, ResnetDiscriminator>(
      {.name = "biggan", .init = WeightInit::kOrthogonal}, &BigganOptionsFrom);
}

}  // namespace gandem
