// SPDX-License-Identifier: Apache-2.0
#include "training/roles/role_parts.h"

#include <utility>
#include <vector>

#include "common/checkpoint/checkpoint_shards.h"
#include "common/checkpoint/initial_state.h"
#include "common/process/log.h"
#include "common/status.h"
#include "models/layers/batch_norm.h"
#include "models/layers/drawing_layer.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "training/compute/place_network.h"
#include "training/fleet/sync_batch_norm.h"
#include "training/state/load_state_dict.h"

namespace gandem {

RoleServices ServicesOf(const RoleSetup& setup) {
  RoleServices services = setup.services;
  services.fleet = setup.fleet.tensors;
  return services;
}

absl::StatusOr<std::shared_ptr<Discriminator>> NewDiscriminator(
    const NetworkPlan& plan, const Compute& compute) {
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<Discriminator> network,
                          MakeDiscriminator(plan.network, plan.data));
  InitializeParameters(*network, plan.network, plan.seed);
  return PlaceNetwork(std::move(network), plan.recompute_blocks, compute);
}

void SaltAfterRollback(const RunPlan& plan, torch::nn::Module& network) {
  // The salt is 0 without a rollback.
  SaltDraws(network, plan.noise_seed ^ plan.data.seed);
}

std::unique_ptr<GradientScaler> NewScaler(const RolePlan& role,
                                          const Compute& compute) {
  if (!compute.NeedsLossScale()) return nullptr;
  return std::make_unique<GradientScaler>(role.loss_scale);
}

double ShareOf(const RolePlan& role, const EpochPlace& place) {
  return static_cast<double>(RankImages(role.step_batch, role.step_batches,
                                        place.rank, role.workers)) /
         static_cast<double>(role.step_batch);
}

std::unique_ptr<GradientSynchronizer> NewSynchronizer(
    const RolePlan& role, const RoleSetup& setup,
    const torch::nn::Module& network, const Optimizer& optimizer,
    const GradientScaler* scaler, const TensorsByName& more_buffers) {
  if (setup.fleet.tensors == nullptr) return nullptr;
  GradientSynchronizer::Options options = role.sync;
  options.share = ShareOf(role, setup.place);
  options.may_be_infinite = scaler != nullptr;
  TensorsByName buffers = BuffersOf(network);
  buffers.insert(buffers.end(), more_buffers.begin(), more_buffers.end());
  return std::make_unique<GradientSynchronizer>(
      options,
      GradientSynchronizer::State{.parameters = TrainedParametersOf(network),
                                  .frozen = FrozenParametersOf(network),
                                  .buffers = std::move(buffers),
                                  .optimizer = optimizer.State()},
      setup.fleet);
}

void SyncIfAsked(const RolePlan& role, const RoleSetup& setup,
                 torch::nn::Module& network) {
  if (setup.fleet.host == nullptr || !role.syncs_batch_norm) return;
  SyncBatchNorm(network, GatherOver(setup.fleet.host));
}

absl::Status BeginAsGiven(const RoleSetup& setup, const std::string& role,
                          std::initializer_list<torch::nn::Module*> networks) {
  if (!setup.resume_from.empty() || setup.run_dir.empty()) {
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string path,
                          FindInitialState(setup.run_dir, role));
  if (path.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (torch::nn::Module* const network : networks) {
    GANDEM_ASSIGN_OR_RETURN(lines, LoadStateDict(path, StateOf(*network)));
  }
  GANDEM_LOG_INFO("the {} begins with {}", role, path);
  for (const std::string& line : lines) {
    GANDEM_LOG_INFO("the {}: {}", role, line);
  }
  return absl::OkStatus();
}

absl::Status RestoreIfResumed(const RoleSetup& setup, const std::string& name,
                              TrainingRole& role) {
  if (setup.resume_from.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors,
                          ReadShards(setup.resume_from, name));
  return role.Restore(TensorReader(std::move(tensors)));
}

}  // namespace gandem
