// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/quality/optimizer_rules.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/optimism.h"
#include "common/config/run_config.h"

namespace gandem {
namespace {

constexpr int64_t kLargeBatch = 1024;
constexpr int64_t kMediumBatch = 256;

enum RowIndex {
  kWassersteinPenalty,
  kWasserstein,
  kGradientPenaltyAtImages,  // R1, R2
  kLargeSpectral,
  kMediumSpectral,
  kSpectral,
  kLeastSquares,
  kOther,
  kNumRows
};

// As in docs/optimizers.md.
constexpr OptimizerRow kRows[] = {
    {"Wasserstein with gradient penalty",
     "WGAN-GP, Gulrajani et al. 2017, algorithm 1", 1e-4, 1e-4, 0, 0.9, 64},
    {"Wasserstein without a penalty",
     "that of WGAN-GP, for want of one without clipping", 1e-4, 1e-4, 0, 0.9,
     64},
    {"R1 or R2",
     "Mescheder et al. 2018; their code has RMSprop, which differs in its "
     "first steps",
     1e-4, 1e-4, 0, 0.99, 64},
    {"spectral norm, batches of 1024 and more",
     "BigGAN, Brock et al. 2019, section 3", 5e-5, 2e-4, 0, 0.999, 2048},
    {"spectral norm, batches of 256 and more",
     "SAGAN, Zhang et al. 2019, section 4: two rates, Heusel et al. 2017", 1e-4,
     4e-4, 0, 0.9, 256},
    {"spectral norm", "SNGAN, Miyato et al. 2018, their code for ResNets", 2e-4,
     2e-4, 0, 0.9, 64},
    {"least squares", "StudioGAN's LSGAN for CIFAR-10", 2e-4, 2e-4, 0.5, 0.999,
     64},
    {"batch norm or no normalization", "DCGAN, Radford et al. 2016, section 4",
     2e-4, 2e-4, 0.5, 0.999, 128},
};
static_assert(std::size(kRows) == kNumRows);

bool HasSpectralNorm(const NetworkConfig& network) {
  switch (network.family_case()) {
    case NetworkConfig::kSndcgan:
      return network.sndcgan().spectral_norm();
    case NetworkConfig::kSngan:
      return network.sngan().norm() == SnganConfig::SPECTRAL;
    case NetworkConfig::kSagan:
    case NetworkConfig::kBiggan:
      return true;
    default:
      return false;
  }
}

RowIndex RowIndexOf(const RunConfig& config) {
  if (config.penalties().gradient_penalty() > 0) return kWassersteinPenalty;
  if (config.penalties().r1() > 0 || config.penalties().r2() > 0) {
    return kGradientPenaltyAtImages;
  }
  if (HasSpectralNorm(config.discriminator().network())) {
    const int64_t batch = StepBatch(config.discriminator());
    if (batch >= kLargeBatch) return kLargeSpectral;
    return batch >= kMediumBatch ? kMediumSpectral : kSpectral;
  }
  if (config.loss() == WASSERSTEIN) return kWasserstein;
  return config.loss() == LEAST_SQUARES ? kLeastSquares : kOther;
}

// Those whose steps are divided by a root of squared gradients; LARS, LAMB and
// Adafactor have sizes of steps of their own.
bool IsAdaptive(OptimizerConfig::FamilyCase family) {
  switch (family) {
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
      linear ? " in proportion, as that of SGD (Goyal et al. 2017)"
             : " by its square root, as that of Adam (Krizhevsky 2014, Malladi "
               "et al. 2022)"));
}

// AdaBelief has no beta1 of 0, and Lion's means something else.
void DropMomentum(const std::string& role, OptimizerConfig& optimizer,
                  std::vector<std::string>& reasons) {
  const auto drop = [&](double beta1, auto& family) {
    if (beta1 == 0) return;
    family.set_beta1(0);
    reasons.push_back(absl::StrFormat(
        "%s: beta1 0 in place of %g, for a lag is momentum enough (Mitliagkas "
        "et al. 2016; docs/quality.md)",
        role, beta1));
  };
  switch (optimizer.family_case()) {
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

void TakeRow(const OptimizerRow& row, const std::string& role, double rate,
             OptimizerConfig& optimizer, std::vector<std::string>& reasons) {
  AdamConfig& adam = *optimizer.mutable_adam();
  adam.set_learning_rate(rate);
  adam.set_beta1(row.beta1);
  adam.set_beta2(row.beta2);
  optimizer.set_base_batch_size(row.batch_size);
  reasons.push_back(absl::StrFormat(
      "%s: Adam with rate %g and betas %g and %g, found at batch %d: %s (%s)",
      role, rate, row.beta1, row.beta2, row.batch_size, row.name, row.source));
}

void ChooseRole(const OptimizerRow& row, const std::string& name, double rate,
                bool has_lag, RoleConfig& role,
                std::vector<std::string>& reasons) {
  OptimizerConfig& optimizer = *role.mutable_optimizer();
  if (optimizer.family_case() == OptimizerConfig::FAMILY_NOT_SET) {
    TakeRow(row, name, rate, optimizer, reasons);
  } else {
    reasons.push_back(absl::StrCat(
        name, ": the family and the rate are those of the recipe"));
  }
  FollowTheBatch(name, role, optimizer, reasons);
  if (!has_lag) return;
  DropMomentum(name, optimizer, reasons);
  optimizer.set_optimism_rule(OptimizerConfig::LAG_MATCHED);
}

}  // namespace

const OptimizerRow& OptimizerRowOf(const RunConfig& config) {
  return kRows[RowIndexOf(config)];
}

void RememberBatches(RunConfig& recipe) {
  for (RoleConfig* const role :
       {recipe.mutable_generator(), recipe.mutable_discriminator()}) {
    OptimizerConfig& optimizer = *role->mutable_optimizer();
    if (optimizer.batch_scaling() != BATCH_NONE) continue;
    optimizer.set_base_batch_size(StepBatch(*role));
  }
}

std::vector<std::string> ChooseOptimizers(RunConfig& config) {
  const OptimizerRow& row = OptimizerRowOf(config);
  const bool has_lag = config.schedule().lag() > 0;
  std::vector<std::string> reasons;
  ChooseRole(row, "generator", row.generator_rate, has_lag,
             *config.mutable_generator(), reasons);
  ChooseRole(row, "discriminator", row.discriminator_rate, has_lag,
             *config.mutable_discriminator(), reasons);
  if (!has_lag) return reasons;
  const double generator = ResolvedOptimizer(config, GENERATOR).optimism();
  const double discriminator =
      ResolvedOptimizer(config, DISCRIMINATOR).optimism();
  reasons.push_back(absl::StrFormat(
      "optimism_rule LAG_MATCHED: %g in the generator and %g in the "
      "discriminator make up for lag %d (docs/optimizers.md)",
      generator, discriminator, config.schedule().lag()));
  return reasons;
}

}  // namespace gandem
