// SPDX-License-Identifier: Apache-2.0
#include "common/config/optimizer_validate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/config/field_ranges.h"
#include "common/config/role_name.h"
#include "common/config/validate_parts.h"

namespace gandem {
namespace {

// If both are 0, a parameter with zero gradient becomes 0 / 0.
void CheckTwoEps(const std::string& prefix, double eps, double eps_root,
                 Faults& faults) {
  const double least = RangeOf<AdamConfig>("eps").low;
  if (std::max(eps, eps_root) >= least) return;
  faults.Add(absl::StrCat(prefix, "eps ", eps, " and eps_root ", eps_root,
                          " are both 0: one has to be at least ", least));
}

void CheckTogether(const std::string& prefix, const OptimizerConfig& config,
                   Faults& faults) {
  switch (config.family_case()) {
    case OptimizerConfig::kSgd:
      if (config.sgd().nesterov() &&
          (config.sgd().momentum() == 0 || config.sgd().dampening() != 0)) {
        faults.Add(prefix +
                   "sgd.nesterov needs momentum above 0 and dampening 0");
      }
      return;
    case OptimizerConfig::kRmsprop:
      CheckTwoEps(prefix + "rmsprop.", config.rmsprop().eps(),
                  config.rmsprop().eps_root(), faults);
      return;
    case OptimizerConfig::kAdabelief:
      CheckTwoEps(prefix + "adabelief.", config.adabelief().eps(),
                  config.adabelief().eps_root(), faults);
      if (config.adabelief().rectify() &&
          !config.adabelief().bias_correction()) {
        faults.Add(prefix +
                   "adabelief.rectify is about corrected means: set "
                   "bias_correction=true, or rectify=false");
      }
      return;
    default:
      return;
  }
}

void CheckOptimizerSchedule(const std::string& prefix,
                            const RateScheduleConfig& schedule, int64_t rounds,
                            Faults& faults) {
  const int64_t until =
      schedule.decay_until_round() == 0 ? rounds : schedule.decay_until_round();
  if (schedule.shape() != RateScheduleConfig::CONSTANT &&
      until <= schedule.decay_from_round()) {
    faults.Add(
        absl::StrCat(prefix, "decay_from_round ", schedule.decay_from_round(),
                     " is not before the end of the decay, round ", until));
  }
}

void CheckGroups(const std::string& prefix, const OptimizerConfig& config,
                 Faults& faults) {
  for (int i = 0; i < config.group_size(); ++i) {
    if (!config.group(i).parameters().empty()) continue;
    faults.Add(absl::StrCat(prefix, "group[", i,
                            "].parameters is empty: name the parameters of the "
                            "group, as in \"main.0.*\""));
  }
}

bool IsLagMatched(const OptimizerConfig& optimizer) {
  return optimizer.optimism_rule() == OptimizerConfig::LAG_MATCHED;
}

double StepsPerRound(const RunConfig& config) {
  return static_cast<double>(
      std::max<int64_t>(1, config.schedule().discriminator_steps_per_round()));
}

double OptimismOf(const RunConfig& config, Role role) {
  const OptimizerConfig& generator = config.generator().optimizer();
  const OptimizerConfig& discriminator = config.discriminator().optimizer();
  const bool is_generator = role == GENERATOR;
  const OptimizerConfig& own = is_generator ? generator : discriminator;
  const OptimizerConfig& other = is_generator ? discriminator : generator;
  if (!IsLagMatched(own)) return own.optimism();
  const auto lag = static_cast<double>(config.schedule().lag());
  const double steps = StepsPerRound(config);
  if (IsLagMatched(other)) {
    if (steps == 1) return lag / 2;
    return is_generator ? lag : 0;
  }
  const double rest = is_generator ? lag - other.optimism() / steps
                                   : (lag - other.optimism()) * steps;
  return std::max(0.0, rest);
}

}  // namespace

const google::protobuf::FieldDescriptor* FamilyFieldOf(
    const OptimizerConfig& config) {
  return config.GetReflection()->GetOneofFieldDescriptor(
      config, config.GetDescriptor()->FindOneofByName("family"));
}

void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    int64_t rounds, Faults& faults) {
  CheckTogether(prefix, config, faults);
  CheckOptimizerSchedule(prefix + "rate_schedule.", config.rate_schedule(),
                         rounds, faults);
  CheckGroups(prefix, config, faults);
}

OptimizerConfig ResolvedOptimizer(const RunConfig& config, Role role) {
  OptimizerConfig resolved = role == GENERATOR
                                 ? config.generator().optimizer()
                                 : config.discriminator().optimizer();
  if (IsLagMatched(resolved)) resolved.set_optimism(OptimismOf(config, role));
  resolved.set_optimism_rule(OptimizerConfig::FIXED);
  return resolved;
}

void CheckOptimism(const RunConfig& config, Faults& faults) {
  const auto check = [&](const OptimizerConfig& optimizer, Role role) {
    const double optimism = OptimismOf(config, role);
    const double most = RangeOf<OptimizerConfig>("optimism").high;
    if (!IsLagMatched(optimizer) || optimism <= most) return;
    const std::string name = RoleName(role);
    const std::string other =
        RoleName(role == GENERATOR ? DISCRIMINATOR : GENERATOR);
    faults.Add(absl::StrCat(
        name, ".optimizer.optimism_rule LAG_MATCHED: schedule.lag ",
        config.schedule().lag(), " needs an optimism of ", optimism,
        " here, and at most ", most,
        " can be had: set a smaller schedule.lag, or ", other,
        ".optimizer.optimism_rule=LAG_MATCHED if it is not, or ", name,
        ".optimizer.optimism_rule=FIXED"));
  };
  check(config.generator().optimizer(), GENERATOR);
  check(config.discriminator().optimizer(), DISCRIMINATOR);
}

}  // namespace gandem
