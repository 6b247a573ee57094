// SPDX-License-Identifier: Apache-2.0
#include "common/config/optimism.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/field_ranges.h"
#include "common/config/role_name.h"
#include "common/config/validate_parts.h"

namespace gandem {
namespace {

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

OptimizerConfig ResolvedOptimizer(const RunConfig& config, Role role) {
  OptimizerConfig resolved = role == GENERATOR
                                 ? config.generator().optimizer()
                                 : config.discriminator().optimizer();
  if (IsLagMatched(resolved)) resolved.set_optimism(OptimismOf(config, role));
  resolved.set_optimism_rule(OptimizerConfig::FIXED);
  return resolved;
}

double UnmatchedLag(const RunConfig& config) {
  return static_cast<double>(config.schedule().lag()) -
         OptimismOf(config, GENERATOR) -
         OptimismOf(config, DISCRIMINATOR) / StepsPerRound(config);
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
