// SPDX-License-Identifier: Apache-2.0
#include "models/families/sngan.h"

#include "common/faults.h"
#include "models/families/resnet.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using SnganHead = DiscriminatorHead::Kind;
using SnganNorm = DiscriminatorBlock::Norm;

ResnetPlan SnganPlanFor(int64_t image_size, bool thin) {
  if (image_size == 48) {
    return {.smallest = 6,
            .generator = {8, 4, 2, 1},
            .discriminator = {1, 2, 4, 8, 16},
            .num_halving = 4};
  }
  ResnetPlan plan = ResnetPlanFor(image_size);
  if (image_size == 64 && thin) plan.num_halving = 5;
  return plan;
}

SnganNorm NormFrom(SnganConfig::Norm norm) {
  switch (norm) {
    case SnganConfig::SPECTRAL:
      return SnganNorm::kSpectral;
    case SnganConfig::BATCH:
      return SnganNorm::kBatch;
    case SnganConfig::NONE:
      break;
  }
  return SnganNorm::kNone;
}

absl::StatusOr<ResnetOptions> SnganOptionsFrom(const NetworkConfig& network,
                                               const DataShape& data) {
  const SnganConfig& config = network.sngan();
  Faults faults("network.sngan");
  faults.CheckPositive("batch_norm_eps", config.batch_norm_eps(), 1);
  faults.CheckPositive("spectral_norm_eps", config.spectral_norm_eps(), 1);
  if (config.norm() == SnganConfig::BATCH &&
      config.shortcut() == SnganConfig::RECTIFIED) {
    faults.Add(
        "shortcut RECTIFIED is not defined with norm BATCH: leave it out");
  }
  if (!faults.empty()) return faults.ToStatus();
  const ResnetPlan plan = SnganPlanFor(data.image.height, config.thin());
  const int64_t num_classes = ConditionalClasses(data);
  ResnetOptions options;
  options.generator = {.channels = Widened(plan.generator, config.width()),
                       .smallest = plan.smallest,
                       .noise_dim = config.noise_dim(),
                       .num_classes = num_classes,
                       .image_channels = data.image.channels,
                       .upsample = config.upsampling() == SnganConfig::BILINEAR
                                       ? &UpsampleBilinear
                                       : &Upsample,
                       .style = {.norm_eps = config.batch_norm_eps()}};
  options.discriminator = {
      .channels = Widened(plan.discriminator, config.width()),
      .num_halving = plan.num_halving,
      .thin = config.thin(),
      .image_size = data.image.height,
      .image_channels = data.image.channels,
      .mean_pool = config.pool() == SnganConfig::MEAN,
      .block = {.norm = NormFrom(config.norm()),
                .batch_norm_eps = config.batch_norm_eps(),
                .spectral_norm_eps = config.spectral_norm_eps(),
                .rectified_shortcut =
                    config.shortcut() == SnganConfig::RECTIFIED},
      .head = {
          .kind = num_classes > 0 ? SnganHead::kProjection : SnganHead::kPlain,
          .num_classes = num_classes,
          .logit_bias = config.logit_bias()}};
  return options;
}

}  // namespace

NetworkFamily SnganFamily() {
  return MakeFamily<ResnetGenerator, ResnetDiscriminator>(
      {.name = "sngan", .init = WeightInit::kOrthogonal}, &SnganOptionsFrom);
}

}  // namespace gandem
