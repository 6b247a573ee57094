// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/quality/optimizer_rules.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/optimizer_validate.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"

namespace gandem {
namespace {

// Returns whether the family divides steps by a root of squared gradients.
// LARS, LAMB and Adafactor set the size of a step in another way.
bool IsAdaptive(OptimizerConfig::FamilyCase family) {
  switch (family) {
    case OptimizerConfig::FAMILY_NOT_SET:  // Adam
    case OptimizerConfig::kAdam:
    case OptimizerConfig::kAdamw:
    case OptimizerConfig::kRmsprop:
    case OptimizerConfig::kAdabelief:
    case OptimizerConfig::kRadam:
      return true;
    default:
      return false;
  }
}

void FollowTheBatch(const std::string& role, const RoleConfig& role_config,
                    OptimizerConfig& optimizer,
                    std::vector<std::string>& reasons) {
  if (optimizer.batch_scaling() != BATCH_NONE ||
      StepBatch(role_config) == optimizer.base_batch_size()) {
    return;
  }
  const bool linear = optimizer.has_sgd();
  if (!linear && !IsAdaptive(optimizer.family_case())) return;
  optimizer.set_batch_scaling(linear ? BATCH_LINEAR : BATCH_SQRT);
  reasons.push_back(absl::StrCat(
      role, ": the rate follows the batch from ", optimizer.base_batch_size(),
      " to ", StepBatch(role_config),
      linear ? " in proportion, as for SGD (Goyal et al. 2017)"
             : " by its square root, as for Adam (Krizhevsky 2014, Malladi "
               "et al. 2022)"));
}

// Sets beta1 to 0. AdaBelief does not allow 0; Lion's beta1 is no momentum.
void DropMomentum(const std::string& role, OptimizerConfig& optimizer,
                  std::vector<std::string>& reasons) {
  const auto drop = [&](double beta1, auto& family) {
    if (beta1 == 0) return;
    family.set_beta1(0);
    reasons.push_back(absl::StrFormat(
        "%s: beta1 0 in place of %g, because a lag acts like momentum "
        "(Mitliagkas et al. 2016; docs/quality.md)",
        role, beta1));
  };
  switch (optimizer.family_case()) {
    // Without a family, the optimizer is Adam with its default beta1 of 0.
    case OptimizerConfig::kAdam:
      return drop(optimizer.adam().beta1(), *optimizer.mutable_adam());
    case OptimizerConfig::kAdamw:
      return drop(optimizer.adamw().beta1(), *optimizer.mutable_adamw());
    case OptimizerConfig::kRadam:
      return drop(optimizer.radam().beta1(), *optimizer.mutable_radam());
    case OptimizerConfig::kLamb:
      return drop(optimizer.lamb().beta1(), *optimizer.mutable_lamb());
    default:
      return;
  }
}

}  // namespace

void RememberBatches(RunConfig& recipe) {
  for (RoleConfig* const role :
       {recipe.mutable_generator(), recipe.mutable_discriminator()}) {
    OptimizerConfig& optimizer = *role->mutable_optimizer();
    if (optimizer.batch_scaling() != BATCH_NONE) continue;
    optimizer.set_base_batch_size(StepBatch(*role));
  }
}

std::vector<std::string> ChooseOptimizers(RunConfig& config) {
  const bool has_lag = config.schedule().lag() > 0;
  std::vector<std::string> reasons;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    RoleConfig& role_config = role == GENERATOR
                                  ? *config.mutable_generator()
                                  : *config.mutable_discriminator();
    OptimizerConfig& optimizer = *role_config.mutable_optimizer();
    FollowTheBatch(RoleName(role), role_config, optimizer, reasons);
    if (!has_lag) continue;
    DropMomentum(RoleName(role), optimizer, reasons);
    optimizer.set_optimism_rule(OptimizerConfig::LAG_MATCHED);
  }
  if (!has_lag) return reasons;
  const double generator = ResolvedOptimizer(config, GENERATOR).optimism();
  const double discriminator =
      ResolvedOptimizer(config, DISCRIMINATOR).optimism();
  reasons.push_back(absl::StrFormat(
      "optimism_rule LAG_MATCHED: %g in the generator and %g in the "
      "discriminator compensate lag %d (docs/optimizers.md)",
      generator, discriminator, config.schedule().lag()));
  return reasons;
}

}  // namespace gandem
