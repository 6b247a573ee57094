// SPDX-License-Identifier: Apache-2.0
#include "training/roles/role_parts.h"

#include <utility>
#include <vector>

#include "common/checkpoint/checkpoint_shards.h"
#include "common/status.h"
#include "models/layers/batch_norm.h"
#include "models/layers/drawing_layer.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "training/compute/choose_compute.h"
#include "training/compute/place_network.h"
#include "training/fleet/sync_batch_norm.h"

namespace gandem {

RoleOptions RoleOptionsFrom(const RunPlan& plan, const RolePlan& role,
                            const EpochPlace& place, const Compute& compute,
                            const ComputeChoice& choice,
                            const TensorFormat& sent_format) {
  ObjectiveOptions objective = plan.objective;
  // A scale that makes the gradient of the discriminator's loss infinite must
  // not take the generator's with it.
  if (compute.NeedsLossScale()) objective.fused_in_one_pass = false;
  return {.schedule = plan.schedule(),
          .rank = place.rank,
          .fleet_size = role.workers,
          .rounds_to_agreement = role.steps_to_agreement,
          .first_round = place.first_round,
          .saved_rounds = place.saved_rounds,
          .checkpoints = {.rounds = plan.rounds,
                          .every_rounds = plan.checkpoint_every_rounds},
          .objective = std::move(objective),
          .clip_gradient_norm = role.clip_gradient_norm,
          .step_batch = role.step_batch,
          .step_batches = role.step_batches,
          .noise_scale_every_rounds = plan.control.noise_scale_every_rounds,
          .ends_on_health_warning = plan.control.ends_on_health_warning,
          .compute = compute,
          .compute_choice = ChoiceState(role.network, choice),
          .sent_format = sent_format};
}

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
  // Zero where there was none.
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

absl::Status RestoreIfResumed(const RoleSetup& setup, const std::string& name,
                              TrainingRole& role) {
  if (setup.resume_from.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors,
                          ReadShards(setup.resume_from, name));
  return role.Restore(TensorReader(std::move(tensors)));
}

}  // namespace gandem
