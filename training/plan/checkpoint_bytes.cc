// SPDX-License-Identifier: Apache-2.0
#include "training/plan/checkpoint_bytes.h"

#include <algorithm>
#include <memory>
#include <string>

#include "common/config/role_name.h"
#include "common/status.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "training/optimizers/freeze_parameters.h"
#include "training/optimizers/make_optimizer.h"
#include "training/plan/run_plan.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

struct RoleBytes {
  int64_t network = 0;
  int64_t optimizer = 0;
};

absl::StatusOr<RoleBytes> BytesOfRole(const RolePlan& role,
                                      torch::nn::Module& network) {
  // The optimizer's state has the type of the parameters.
  if (role.network.precision == RoleConfig::FLOAT64) network.to(at::kDouble);
  GANDEM_RETURN_IF_ERROR(FreezeParameters(
      RoleName(role.network.role), role.freeze, role.optimizer, network));
  GANDEM_ASSIGN_OR_RETURN(
      const std::unique_ptr<Optimizer> optimizer,
      MakeOptimizer(role.optimizer, TrainedParametersOf(network),
                    role.optimizer_use));
  return RoleBytes{.network = BytesOf(StateOf(network)),
                   .optimizer = BytesOf(optimizer->State())};
}

absl::StatusOr<int64_t> BytesOfGenerator(const RunPlan& plan) {
  const RolePlan& role = plan.generator;
  GANDEM_ASSIGN_OR_RETURN(
      const std::shared_ptr<Generator> network,
      MakeGenerator(role.network.network, role.network.data));
  GANDEM_ASSIGN_OR_RETURN(const RoleBytes bytes, BytesOfRole(role, *network));
  const int64_t path_length =
      plan.objective.path_length.weight > 0 ? sizeof(double) : 0;
  return 2 * bytes.network + bytes.optimizer + path_length;
}

// Returns the number of critics, from rounds in flight, that a restored
// generator needs with exact versions.
int64_t OlderCritics(const RunPlan& plan) {
  if (!plan.schedule().IsExact()) return 0;
  const int64_t oldest = plan.schedule().OldestBoundaryNeeded(plan.rounds);
  return std::max<int64_t>(0, plan.rounds - oldest);
}

absl::StatusOr<int64_t> BytesOfDiscriminator(const RolePlan& role,
                                             int64_t older_critics) {
  GANDEM_ASSIGN_OR_RETURN(
      const std::shared_ptr<Discriminator> network,
      MakeDiscriminator(role.network.network, role.network.data));
  GANDEM_ASSIGN_OR_RETURN(const RoleBytes bytes, BytesOfRole(role, *network));
  return (1 + older_critics) * bytes.network + bytes.optimizer;
}

}  // namespace

// Builds one network at a time, to limit the memory of large ones.
absl::StatusOr<int64_t> PredictCheckpointBytes(const RunConfig& config) {
  const RunPlan plan = MakeRunPlan(EffectiveRunConfig::OfValid(config));
  GANDEM_ASSIGN_OR_RETURN(const int64_t generator, BytesOfGenerator(plan));
  GANDEM_ASSIGN_OR_RETURN(
      const int64_t discriminator,
      BytesOfDiscriminator(plan.discriminator, OlderCritics(plan)));
  return generator + discriminator;
}

}  // namespace gandem
