// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/quality/quality.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/optimizer_validate.h"
#include "common/config/run_config.h"
#include "scaling_manager/planner/quality/quality_constants.h"

namespace gandem {
namespace {

constexpr double kTwoSided95 = 1.96;
// Networks, data and optimizers outside the study vary more than those in it:
// assume twice the deviation (chosen, without a second study).
constexpr double kLogSd = 2 * quality::kPredictionSd;

// Returns beta1 or momentum, whichever the family has, otherwise 0.
double MomentumOf(const OptimizerConfig& optimizer) {
  const auto& reflection = *optimizer.GetReflection();
  const auto* const family = FamilyFieldOf(optimizer);
  if (family == nullptr) return optimizer.adam().beta1();
  const auto& message = reflection.GetMessage(optimizer, family);
  for (const char* const name : {"beta1", "momentum"}) {
    const auto* const field = message.GetDescriptor()->FindFieldByName(name);
    if (field != nullptr) {
      return message.GetReflection()->GetDouble(message, field);
    }
  }
  return 0;
}

struct BatchRange {
  double factor = 1;
  double low = 1;
  double high = 1;
};

// Returns (1 + batch / scale) / (1 + base / scale), McCandlish et al. 2018,
// equation 2.11, between batch / base (large batches gain nothing) and 1.
double OfScale(double batch, double base, double scale) {
  if (std::isinf(scale)) return 1;
  if (scale <= 0) return batch / base;
  return (scale + batch) / (scale + base);
}

BatchRange OfBatch(const RoleConfig& role, const char* name,
                   const std::optional<NoiseScale>& noise, std::string& why) {
  const auto batch = static_cast<double>(StepBatch(role));
  const auto base = static_cast<double>(
      std::max<int64_t>(1, role.optimizer().base_batch_size()));
  if (batch == base) return {};
  BatchRange result;
  if (noise.has_value()) {
    result = {.factor = OfScale(batch, base, noise->images),
              .low = OfScale(batch, base, noise->high),
              .high = OfScale(batch, base, noise->low)};
    absl::StrAppendFormat(&why,
                          "; %s batch %g against %g, gradient noise scale %.3g",
                          name, batch, base, noise->images);
  } else {
    result = {
        .factor = std::sqrt(batch / base), .low = 1, .high = batch / base};
    absl::StrAppendFormat(
        &why,
        "; %s batch %g against %g, noise scale not measured "
        "(control.noise_scale_every_rounds): assumed between no benefit and "
        "full benefit",
        name, batch, base);
  }
  if (result.low > result.high) std::swap(result.low, result.high);
  return result;
}

}  // namespace

double QualitySetting::Excess() const {
  const auto delay = [](double momentum) { return momentum / (1 - momentum); };
  return std::max(0.0, lag - generator_optimism -
                           discriminator_optimism / steps +
                           delay(generator_momentum) +
                           delay(discriminator_momentum) / steps);
}

double QualitySetting::Noise() const {
  const auto of = [](double a) { return (1 + a) * (1 + a) + a * a - 1; };
  return (of(generator_optimism) + of(discriminator_optimism)) / 2;
}

QualitySetting QualitySettingOf(const RunConfig& config) {
  const OptimizerConfig generator = ResolvedOptimizer(config, GENERATOR);
  const OptimizerConfig discriminator =
      ResolvedOptimizer(config, DISCRIMINATOR);
  return {.lag = static_cast<double>(config.schedule().lag()),
          .steps = static_cast<double>(std::max<int64_t>(
              1, config.schedule().discriminator_steps_per_round())),
          .generator_optimism = generator.optimism(),
          .discriminator_optimism = discriminator.optimism(),
          .generator_momentum = MomentumOf(generator),
          .discriminator_momentum = MomentumOf(discriminator)};
}

ImagesNeeded PredictImagesNeeded(const RunConfig& config,
                                 const NoiseScales& noise) {
  const QualitySetting setting = QualitySettingOf(config);
  const double excess = setting.Excess();
  ImagesNeeded needed;
  needed.why = absl::StrFormat(
      "lag %g, of which optimism leaves %.3g (momentum included)", setting.lag,
      excess);
  const double mean = quality::kExcessSquared * excess * excess +
                      quality::kOptimismNoise * setting.Noise();
  const BatchRange generator =
      OfBatch(config.generator(), "generator", noise.generator, needed.why);
  const BatchRange discriminator = OfBatch(
      config.discriminator(), "discriminator", noise.discriminator, needed.why);
  // The role that needs more images decides.
  needed.factor =
      std::exp(mean) * std::max(generator.factor, discriminator.factor);
  needed.low = std::exp(mean - kTwoSided95 * kLogSd) *
               std::max(generator.low, discriminator.low);
  needed.high = std::exp(mean + kTwoSided95 * kLogSd) *
                std::max(generator.high, discriminator.high);
  return needed;
}

}  // namespace gandem
