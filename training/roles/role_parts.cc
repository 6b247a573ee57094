// SPDX-License-Identifier: Apache-2.0
#include "training/roles/role_parts.h"

#include <torch/torch.h>

#include <limits>
#include <utility>
#include <vector>

#include "common/checkpoint/checkpoint_shards.h"
#include "common/config/data_shape.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "models/layers/batch_norm.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "training/compute/choose_compute.h"
#include "training/compute/place_network.h"
#include "training/fleet/sync_batch_norm.h"

namespace gandem {
namespace {

CheckpointPlan PlanFrom(const RunConfig& config) {
  return {.rounds = config.rounds(),
          .every_rounds = config.checkpoint().every_rounds()};
}

double ClipNorm(const RoleConfig& role) {
  return role.clip_gradient_norm() > 0
             ? role.clip_gradient_norm()
             : std::numeric_limits<double>::infinity();
}

}  // namespace

RoleOptions RoleOptionsFrom(const RunConfig& config, const RoleConfig& role,
                            const EpochPlace& place, const Compute& compute,
                            const ComputeChoice& choice,
                            const TensorFormat& sent_format) {
  return {.schedule = ScheduleFrom(config),
          .rank = place.rank,
          .fleet_size = role.workers(),
          .rounds_to_agreement = StepsToAgreement(role),
          .first_round = place.first_round,
          .saved_rounds = place.saved_rounds,
          .checkpoints = PlanFrom(config),
          .objective = ObjectiveFrom(config),
          .clip_gradient_norm = ClipNorm(role),
          .compute = compute,
          .compute_choice = ChoiceState(role, choice),
          .sent_format = sent_format};
}

RoleServices ServicesOf(const RoleSetup& setup) {
  RoleServices services = setup.services;
  services.fleet = setup.fleet.tensors;
  return services;
}

absl::StatusOr<std::shared_ptr<Discriminator>> NewDiscriminator(
    const RunConfig& config, const Compute& compute) {
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<Discriminator> network,
                          MakeDiscriminator(config.discriminator().network(),
                                            DataShapeOf(config.data())));
  InitializeParameters(*network, config.discriminator().network(),
                       config.seed());
  return PlaceNetwork(std::move(network), config.discriminator(), compute);
}

std::unique_ptr<GradientScaler> NewScaler(const RoleConfig& role,
                                          const Compute& compute) {
  if (!compute.NeedsLossScale()) return nullptr;
  const LossScaleConfig& scale = role.loss_scale();
  return std::make_unique<GradientScaler>(
      GradientScaler::Options{.initial_scale = scale.initial(),
                              .growth_factor = scale.growth_factor(),
                              .backoff_factor = scale.backoff_factor(),
                              .growth_interval = scale.growth_interval()});
}

std::unique_ptr<GradientSynchronizer> NewSynchronizer(
    const RoleConfig& role, const RoleSetup& setup, int64_t step_batch,
    const torch::nn::Module& network, const Optimizer& optimizer,
    const GradientScaler* scaler) {
  if (setup.fleet.tensors == nullptr) return nullptr;
  using Wire = GradientSynchronizer::Wire;
  const SyncConfig& sync = role.sync();
  const IndexRange slice =
      RankSlice(step_batch, setup.place.rank, role.workers());
  return std::make_unique<GradientSynchronizer>(
      GradientSynchronizer::Options{
          .mode = sync.mode() == SyncConfig::AVERAGE_STATE
                      ? GradientSynchronizer::Mode::kAverageState
                      : GradientSynchronizer::Mode::kAccumulate,
          .interval = sync.interval(),
          .bucket_bytes = sync.bucket_bytes(),
          .wire = sync.wire() == SyncConfig::BFLOAT16  ? Wire::kBfloat16
                  : sync.wire() == SyncConfig::FLOAT16 ? Wire::kFloat16
                                                       : Wire::kExact,
          .divergence_check_interval = sync.divergence_check_interval(),
          .share = static_cast<double>(slice.count) /
                   static_cast<double>(step_batch),
          .may_be_infinite = scaler != nullptr},
      GradientSynchronizer::State{.parameters = ParametersOf(network),
                                  .buffers = BuffersOf(network),
                                  .optimizer = optimizer.State()},
      setup.fleet);
}

void SyncIfAsked(const RoleConfig& role, const RoleSetup& setup,
                 torch::nn::Module& network) {
  if (setup.fleet.host == nullptr || !role.sync().batch_norm()) return;
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
