// SPDX-License-Identifier: Apache-2.0
#include "models/families/biggan.h"

#include "absl/strings/str_cat.h"
#include "models/families/resnet.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using BigganHead = DiscriminatorHead::Kind;
using BigganNoise = ResnetGeneratorOptions::Noise;

constexpr int64_t kChunk = 20;  // of the noise, for the first layer or a block
constexpr int64_t kWidth = 96;
constexpr int64_t kDeepWidth = 128;
constexpr int64_t kDeepNoise = 128;

bool IsDeep(const BigganConfig& config) {
  return config.form() == BigganConfig::DEEP ||
         config.form() == BigganConfig::DEEP_MIXING;
}

ResnetPlan BigganPlanFor(const BigganConfig& config, int64_t image_size) {
  ResnetPlan plan = ResnetPlanFor(image_size);
  switch (config.form()) {
    case BigganConfig::STANDARD:
      break;
    case BigganConfig::PYTORCH:
      if (image_size == 32) plan.discriminator = {4, 4, 4, 4};
      if (image_size == 64) plan.generator = {16, 16, 8, 4, 2};
      break;
    case BigganConfig::DEEP:
      if (image_size == 32) plan.discriminator = {4, 4, 4, 4};
      break;
    case BigganConfig::DEEP_MIXING:
      if (image_size == 32) plan.discriminator = {1, 4, 4, 4};
      break;
  }
  return plan;
}

// Zeros of the config replaced by the family's defaults.
struct Sizes {
  int64_t width = 0;
  int64_t noise_dim = 0;
  int64_t attention_size = 0;
};

Sizes SizesFrom(const BigganConfig& config, const ResnetPlan& plan) {
  const bool deep = IsDeep(config);
  Sizes sizes = {.width = config.width(), .noise_dim = config.noise_dim()};
  if (sizes.width == 0) sizes.width = deep ? kDeepWidth : kWidth;
  if (sizes.noise_dim == 0) {
    sizes.noise_dim =
        deep ? kDeepNoise
             : kChunk * static_cast<int64_t>(plan.generator.size());
  }
  if (config.attention()) {
    sizes.attention_size = config.attention_size() > 0 ? config.attention_size()
                                                       : plan.attention_size;
  }
  return sizes;
}

DiscriminatorHead::Options HeadFrom(const BigganConfig& config,
                                    int64_t num_classes, int64_t features) {
  if (num_classes == 0) return {};
  if (config.head() == BigganConfig::PROJECTION) {
    return {.kind = BigganHead::kProjection, .num_classes = num_classes};
  }
  return {.kind = BigganHead::kContrastive,
          .num_classes = num_classes,
          .embedding_dim =
              config.embedding_dim() > 0 ? config.embedding_dim() : features};
}

void Check(const BigganConfig& config, const DataShape& data, Faults& faults) {
  faults.CheckPositive("batch_norm_eps", config.batch_norm_eps(), 1);
  faults.CheckPositive("spectral_norm_eps", config.spectral_norm_eps(), 1);
  const int64_t size = data.image.height;
  if (IsDeep(config) && size != 32 && size != 128 && size != 256) {
    faults.Add(absl::StrCat(
        "form DEEP is for images of 32, 128 or 256 pixels, not ", size));
  }
  if (config.head() == BigganConfig::CONTRASTIVE &&
      ConditionalClasses(data) == 0) {
    faults.Add(
        "head CONTRASTIVE needs classes to tell apart: set data.num_classes");
  }
}

absl::StatusOr<ResnetOptions> BigganOptionsFrom(const NetworkConfig& network,
                                                const DataShape& data) {
  const BigganConfig& config = network.biggan();
  Faults faults("network.biggan");
  Check(config, data, faults);
  const int64_t num_classes = ConditionalClasses(data);
  const ResnetPlan plan = BigganPlanFor(config, data.image.height);
  const Sizes sizes = SizesFrom(config, plan);
  const bool deep = IsDeep(config);
  const bool mixing = config.form() == BigganConfig::DEEP_MIXING;
  ResnetOptions options;
  options.generator = {
      .channels = Widened(plan.generator, sizes.width),
      .noise_dim = sizes.noise_dim,
      .noise = deep ? BigganNoise::kEverywhere : BigganNoise::kChunks,
      .num_classes = num_classes,
      .class_dim = num_classes > 0 ? config.class_dim() : 0,
      .attention_size = sizes.attention_size,
      .bottleneck = deep,
      .mixing_shortcut = mixing,
      .image_channels = data.image.channels,
      .style = {.norm_eps = config.batch_norm_eps(),
                .spectral_norm = true,
                .spectral_norm_eps = config.spectral_norm_eps()}};
  options.discriminator = {
      .channels = Widened(plan.discriminator, sizes.width),
      .num_halving = plan.num_halving,
      .image_size = data.image.height,
      .image_channels = data.image.channels,
      .attention_size = sizes.attention_size,
      .bottleneck = deep,
      .mixing_shortcut = mixing,
      .block = {.spectral_norm_eps = config.spectral_norm_eps(),
                .rectified_shortcut =
                    config.shortcut() == SnganConfig::RECTIFIED},
      .head = HeadFrom(config, num_classes,
                       plan.discriminator.back() * sizes.width)};
  CheckResnet(options, faults);
  if (!faults.empty()) return faults.ToStatus();
  return options;
}

}  // namespace

NetworkFamily BigganFamily() {
  return MakeFamily<ResnetGenerator, ResnetDiscriminator>(
      {.name = "biggan", .init = WeightInit::kOrthogonal}, &BigganOptionsFrom);
}

}  // namespace gandem
