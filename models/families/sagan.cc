// SPDX-License-Identifier: Apache-2.0
#include "models/families/sagan.h"

#include "models/families/resnet.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using SaganHead = DiscriminatorHead::Kind;

absl::StatusOr<ResnetOptions> SaganOptionsFrom(const NetworkConfig& network,
                                               const DataShape& data) {
  const SaganConfig& config = network.sagan();
  Faults faults("network.sagan");
  faults.CheckPositive("batch_norm_eps", config.batch_norm_eps(), 1);
  faults.CheckPositive("spectral_norm_eps", config.spectral_norm_eps(), 1);
  const int64_t num_classes = ConditionalClasses(data);
  const ResnetPlan plan = ResnetPlanFor(data.image.height);
  int64_t attention_size = 0;
  if (config.attention()) {
    attention_size = config.attention_size() > 0 ? config.attention_size()
                                                 : plan.attention_size;
  }
  ResnetOptions options;
  options.generator = {
      .channels = Widened(plan.generator, config.width()),
      .noise_dim = config.noise_dim(),
      .num_classes = num_classes,
      .per_class = config.class_norm() == SaganConfig::EMBEDDING,
      .attention_size = attention_size,
      .image_channels = data.image.channels,
      .style = {.norm_eps = config.batch_norm_eps(),
                .spectral_norm = true,
                .spectral_norm_eps = config.spectral_norm_eps()}};
  options.discriminator = {
      .channels = Widened(plan.discriminator, config.width()),
      .num_halving = plan.num_halving,
      .thin = config.thin(),
      .image_size = data.image.height,
      .image_channels = data.image.channels,
      .attention_size = attention_size,
      .block = {.spectral_norm_eps = config.spectral_norm_eps(),
                .rectified_shortcut =
                    config.shortcut() == SnganConfig::RECTIFIED},
      .head = {
          .kind = num_classes > 0 ? SaganHead::kProjection : SaganHead::kPlain,
          .num_classes = num_classes}};
  CheckResnet(options, faults);
  if (!faults.empty()) return faults.ToStatus();
  return options;
}

}  // namespace

NetworkFamily SaganFamily() {
  return MakeFamily<ResnetGenerator, ResnetDiscriminator>(
      {.name = "sagan", .init = WeightInit::kOrthogonal}, &SaganOptionsFrom);
}

}  // namespace gandem
