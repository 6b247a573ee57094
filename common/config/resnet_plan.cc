// SPDX-License-Identifier: Apache-2.0
#include "common/config/resnet_plan.h"

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace gandem {
namespace {

constexpr int64_t kBigganChunk = 20;  // noise values per chunk
constexpr int64_t kBigganWidth = 96;
constexpr int64_t kBigganDeepWidth = 128;
constexpr int64_t kBigganDeepNoise = 128;

// Builds a plan with channels in multiples of the width.
ResnetPlan PlanInWidths(int64_t image_size) {
  const auto plan = [](std::vector<int64_t> generator,
                       std::vector<int64_t> discriminator, int64_t num_halving,
                       int64_t attention_size) {
    return ResnetPlan{.generator = std::move(generator),
                      .discriminator = std::move(discriminator),
                      .num_halving = num_halving,
                      .attention_size = attention_size};
  };
  switch (image_size) {
    case 32:
      return plan({4, 4, 4, 4}, {2, 2, 2, 2}, 2, 16);
    case 64:
      return plan({16, 8, 4, 2, 1}, {1, 2, 4, 8, 16}, 4, 32);
    case 128:
      return plan({16, 16, 8, 4, 2, 1}, {1, 2, 4, 8, 16, 16}, 5, 64);
    case 256:
      return plan({16, 16, 8, 8, 4, 2, 1}, {1, 2, 4, 8, 8, 16, 16}, 6, 64);
    case 512:
      return plan({16, 16, 8, 8, 4, 2, 1, 1}, {1, 1, 2, 4, 8, 8, 16, 16}, 7,
                  64);
    default:
      GANDEM_CHECK(image_size == 1024);
      return plan({16, 16, 8, 8, 4, 2, 1, 1, 1}, {1, 1, 1, 2, 4, 8, 8, 16, 16},
                  8, 64);
  }
}

void Widen(int64_t width, ResnetPlan& plan) {
  for (int64_t& channels : plan.generator) channels *= width;
  for (int64_t& channels : plan.discriminator) channels *= width;
}

void PlaceAttention(bool attention, int64_t size, ResnetPlan& plan) {
  if (!attention) plan.attention_size = 0;
  if (attention && size > 0) plan.attention_size = size;
}

// Returns the channels of the stage whose output has the attention size, or 0.
int64_t AttendedInGenerator(const ResnetPlan& plan) {
  int64_t size = plan.smallest;
  for (size_t i = 1; i < plan.generator.size(); ++i) {
    size *= 2;
    if (size == plan.attention_size) return plan.generator[i];
  }
  return 0;
}

int64_t AttendedInDiscriminator(const ResnetPlan& plan, int64_t image_size) {
  int64_t size = image_size;
  for (int64_t i = 0; i < plan.num_halving; ++i) {
    size /= 2;
    if (size == plan.attention_size) {
      return plan.discriminator[i + (plan.bottleneck ? 1 : 0)];
    }
  }
  return 0;
}

void CheckAttention(const std::string& path, absl::string_view network,
                    int64_t size, int64_t channels, Faults& faults) {
  if (size == 0) return;
  if (channels == 0) {
    faults.Add(absl::StrCat(path, ": the ", network, " has no layer of ", size,
                            " x ", size,
                            " for attention: change attention_size"));
  } else if (channels % kAttentionChannelDivisor != 0) {
    faults.Add(absl::StrCat(path, ": attention is for multiples of ",
                            kAttentionChannelDivisor, " channels, the ",
                            network, " has ", channels, " at ", size, " x ",
                            size, ": change width"));
  }
}

}  // namespace

ResnetPlan PlanOf(const SnganConfig& config, int64_t image_size) {
  ResnetPlan plan;
  if (image_size == 48) {
    plan = {.smallest = 6,
            .generator = {8, 4, 2, 1},
            .discriminator = {1, 2, 4, 8, 16},
            .num_halving = 4};
  } else {
    plan = PlanInWidths(image_size);
    if (image_size == 64 && config.thin()) plan.num_halving = 5;
  }
  plan.attention_size = 0;
  plan.noise_dim = config.noise_dim();
  Widen(config.width(), plan);
  return plan;
}

ResnetPlan PlanOf(const SaganConfig& config, int64_t image_size) {
  ResnetPlan plan = PlanInWidths(image_size);
  PlaceAttention(config.attention(), config.attention_size(), plan);
  plan.noise_dim = config.noise_dim();
  Widen(config.width(), plan);
  return plan;
}

ResnetPlan PlanOf(const BigganConfig& config, int64_t image_size) {
  ResnetPlan plan = PlanInWidths(image_size);
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
  const bool deep = IsDeep(config);
  plan.bottleneck = deep;
  plan.noise_in_chunks = !deep;
  plan.noise_dim = config.noise_dim();
  if (plan.noise_dim == 0) {
    plan.noise_dim =
        deep ? kBigganDeepNoise
             : kBigganChunk * static_cast<int64_t>(plan.generator.size());
  }
  PlaceAttention(config.attention(), config.attention_size(), plan);
  const int64_t default_width = deep ? kBigganDeepWidth : kBigganWidth;
  Widen(config.width() == 0 ? default_width : config.width(), plan);
  return plan;
}

bool IsDeep(const BigganConfig& config) {
  return config.form() == BigganConfig::DEEP ||
         config.form() == BigganConfig::DEEP_MIXING;
}

int64_t ConditionalClasses(const DataShape& data) {
  return data.num_classes > 1 ? data.num_classes : 0;
}

void CheckResnetPlan(const std::string& path, const ResnetPlan& plan,
                     int64_t image_size, Faults& faults) {
  CheckAttention(path, "generator", plan.attention_size,
                 AttendedInGenerator(plan), faults);
  CheckAttention(path, "discriminator", plan.attention_size,
                 AttendedInDiscriminator(plan, image_size), faults);
  const int64_t parts = static_cast<int64_t>(plan.generator.size());
  if (plan.noise_in_chunks && plan.noise_dim % parts != 0) {
    faults.Add(absl::StrCat(path, ".noise_dim ", plan.noise_dim,
                            " does not split into ", parts, " equal chunks"));
  }
}

}  // namespace gandem
