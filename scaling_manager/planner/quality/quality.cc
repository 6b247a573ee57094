// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/quality/quality.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/optimism.h"
#include "common/config/optimizer_validate.h"
#include "common/config/run_config.h"
#include "scaling_manager/planner/quality/quality_constants.h"

namespace gandem {
namespace {

constexpr double kTwoSided95 = 1.96;
// A standard deviation doubles with everything that the study did not have.
constexpr double kWidening = 2;

// A mean and its standard deviation, of logarithms.
struct LogFactor {
  double mean = 0;
  double sd = 0;
};

// Of two that know nothing of each other: weights by precision.
LogFactor Combined(const LogFactor& a, const LogFactor& b) {
  const double weight_a = 1 / (a.sd * a.sd);
  const double weight_b = 1 / (b.sd * b.sd);
  const double sum = weight_a + weight_b;
  return {.mean = (a.mean * weight_a + b.mean * weight_b) / sum,
          .sd = std::sqrt(1 / sum)};
}

// beta1 or momentum of whatever family it is.
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

bool IsAdam(const OptimizerConfig& optimizer) {
  return optimizer.family_case() == OptimizerConfig::kAdam ||
         optimizer.family_case() == OptimizerConfig::kAdamw ||
         optimizer.family_case() == OptimizerConfig::FAMILY_NOT_SET;
}

// What of `config` the study has not seen.
std::vector<std::string> Unknowns(const RunConfig& config,
                                  const QualitySetting& setting) {
  std::vector<std::string> unknowns;
  double largest_lag = 0;
  double largest_optimism = 0;
  for (const quality::MeasuredSetting& one : quality::kMeasured) {
    largest_lag = std::max(largest_lag, one.lag);
    largest_optimism = std::max(largest_optimism, one.optimism);
  }
  const auto add_if = [&](bool is_unknown, std::string what) {
    if (is_unknown) unknowns.push_back(std::move(what));
  };
  add_if(setting.lag > largest_lag, absl::StrCat("a lag above ", largest_lag));
  add_if(std::max(setting.generator_optimism, setting.discriminator_optimism) >
             largest_optimism,
         absl::StrCat("optimism above ", largest_optimism));
  add_if(setting.steps != 1, "several discriminator steps a round");
  add_if(setting.generator_optimism != setting.discriminator_optimism ||
             setting.generator_momentum != setting.discriminator_momentum,
         "roles with unlike optimism or beta1");
  add_if(!IsAdam(config.generator().optimizer()) ||
             !IsAdam(config.discriminator().optimizer()),
         "another optimizer than Adam");
  add_if(config.schedule().consistency() == ScheduleConfig::BOUNDED,
         "consistency BOUNDED");
  add_if(!config.discriminator().network().has_sndcgan(),
         "another network than SN-DCGAN");
  return unknowns;
}

// The fit, and the setting itself where the study has it.
LogFactor OfStudy(const QualitySetting& setting, size_t unknowns) {
  const double excess = setting.Excess();
  const LogFactor fit = {
      .mean = quality::kExcessSquared * excess * excess +
              quality::kOptimismNoise * setting.Noise(),
      .sd = quality::kPredictionSd *
            std::pow(kWidening,
                     static_cast<double>(std::min<size_t>(unknowns, 3)))};
  for (const quality::MeasuredSetting& one : quality::kMeasured) {
    const QualitySetting same = {.lag = one.lag,
                                 .steps = 1,
                                 .generator_optimism = one.optimism,
                                 .discriminator_optimism = one.optimism,
                                 .generator_momentum = one.beta1,
                                 .discriminator_momentum = one.beta1};
    if (setting != same || unknowns > 0) continue;
    return Combined(fit, {.mean = one.mean_log_factor,
                          .sd = quality::kSeedSd / std::sqrt(one.seeds)});
  }
  return fit;
}

// Of all that have its numbers and no other batches.
LogFactor WithTrials(LogFactor known, const RunConfig& config,
                     const QualityEvidence& evidence, std::string& why) {
  const QualitySetting setting = QualitySettingOf(config);
  int found = 0;
  for (const MeasuredQuality& trial : evidence.trials) {
    if (QualitySettingOf(trial.config) != setting ||
        StepBatch(trial.config.generator()) != StepBatch(config.generator()) ||
        StepBatch(trial.config.discriminator()) !=
            StepBatch(config.discriminator()) ||
        !(trial.sd > 0)) {
      continue;
    }
    known = Combined(known, {.mean = trial.log_factor, .sd = trial.sd});
    ++found;
  }
  if (found > 0) absl::StrAppend(&why, "; measured in trials as well");
  return known;
}

struct BatchRange {
  double factor = 1;
  double low = 1;
  double high = 1;
};

// (1 + B / scale) / (1 + base / scale), McCandlish et al. 2018, equation 2.11;
// monotone in scale between B / base (nothing is gained) and 1.
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
        "(control.noise_scale_every_rounds): anything between no image more "
        "and all of them",
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

ImagesNeeded PredictImagesNeeded(const RunConfig& config) {
  return PredictImagesNeeded(config, {});
}

ImagesNeeded PredictImagesNeeded(const RunConfig& config,
                                 const QualityEvidence& evidence) {
  const QualitySetting setting = QualitySettingOf(config);
  const std::vector<std::string> unknowns = Unknowns(config, setting);
  ImagesNeeded needed;
  needed.why = absl::StrFormat(
      "lag %g, of which optimism leaves %.3g (momentum included)", setting.lag,
      setting.Excess());
  if (!unknowns.empty()) {
    absl::StrAppend(&needed.why,
                    "; not in the study, so the interval is wide: ",
                    absl::StrJoin(unknowns, ", "));
  }
  const LogFactor known = WithTrials(OfStudy(setting, unknowns.size()), config,
                                     evidence, needed.why);
  const BatchRange generator = OfBatch(config.generator(), "generator",
                                       evidence.generator_noise, needed.why);
  const BatchRange discriminator =
      OfBatch(config.discriminator(), "discriminator",
              evidence.discriminator_noise, needed.why);
  // The role that needs more decides.
  needed.factor =
      std::exp(known.mean) * std::max(generator.factor, discriminator.factor);
  needed.low = std::exp(known.mean - kTwoSided95 * known.sd) *
               std::max(generator.low, discriminator.low);
  needed.high = std::exp(known.mean + kTwoSided95 * known.sd) *
                std::max(generator.high, discriminator.high);
  return needed;
}

}  // namespace gandem
