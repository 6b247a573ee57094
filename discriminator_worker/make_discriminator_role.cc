// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/make_discriminator_role.h"

#include <utility>

#include "common/status.h"
#include "discriminator_worker/discriminator_role.h"
#include "discriminator_worker/real_images.h"
#include "models/layers/batch_norm.h"
#include "models/torch.h"
#include "pipeline/sources/open_dataset.h"
#include "training/compute/choose_compute.h"
#include "training/fleet/sync_batch_norm.h"
#include "training/inputs/pairs.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

// Opens the dataset: for real images, and for what generated ones are made of.
absl::Status OpenData(const RunPlan& plan, const RoleSetup& setup,
                      const Compute& compute, DiscriminatorRole::Parts& parts) {
  const DataPlan& data = plan.data;
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const PairReader> pairs;
  if (data.has_pairs()) {
    GANDEM_ASSIGN_OR_RETURN(dataset, OpenPairs(data.files));
    pairs = std::make_shared<const PairReader>(data, dataset, compute);
  } else {
    GANDEM_ASSIGN_OR_RETURN(dataset, OpenDataset(data.files));
  }
  GANDEM_ASSIGN_OR_RETURN(
      parts.condition, OpenConditions(data, std::move(pairs), compute.device));
  const int64_t first_round = setup.place.first_round;
  const auto slice = [&](int64_t batch_size) {
    return RankSlice(batch_size, setup.place.rank, plan.discriminator.workers);
  };
  const Schedule& schedule = plan.schedule();
  GANDEM_ASSIGN_OR_RETURN(
      parts.real_images,
      ReadRealImages(
          data, dataset,
          {.first = first_round * schedule.discriminator_steps_per_round,
           .batch_size = schedule.discriminator_batch,
           .slice = slice(schedule.discriminator_batch)},
          compute));
  if (!plan.judges_with_real_images) return absl::OkStatus();
  // In the same order; with REUSED images also the same in each round.
  GANDEM_ASSIGN_OR_RETURN(
      parts.judging_images,
      ReadRealImages(data, dataset,
                     {.first = first_round,
                      .batch_size = schedule.generator_batch,
                      .slice = slice(schedule.generator_batch)},
                     compute));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRole>> MakeDiscriminatorRole(
    const RunPlan& plan, const RoleSetup& setup,
    DiscriminatorExchange* exchange) {
  const RolePlan& role_plan = plan.discriminator;
  const NetworkPlan& network_plan = role_plan.network;
  const ComputeChoice choice =
      Resolve(network_plan, setup.discriminator_choice);
  GANDEM_ASSIGN_OR_RETURN(const Compute compute,
                          ComputeFrom(network_plan, choice));
  UseThreads(compute);
  DiscriminatorRole::Parts parts;
  parts.scaler = NewScaler(role_plan, compute);
  GANDEM_ASSIGN_OR_RETURN(parts.network,
                          NewDiscriminator(network_plan, compute));
  SyncIfAsked(role_plan, setup, *parts.network);
  parts.new_critic = [=]() -> absl::StatusOr<Critic> {
    GANDEM_ASSIGN_OR_RETURN(auto network,
                            NewDiscriminator(network_plan, compute));
    return Critic{.network = std::move(network), .compute = compute};
  };
  GANDEM_ASSIGN_OR_RETURN(
      parts.optimizer,
      MakeOptimizer(role_plan.optimizer, ParametersOf(*parts.network),
                    role_plan.optimizer_use));
  parts.synchronizer = NewSynchronizer(role_plan, setup, *parts.network,
                                       *parts.optimizer, parts.scaler.get());
  if (setup.fleet.host != nullptr) parts.fleet = GatherOver(setup.fleet.host);
  GANDEM_RETURN_IF_ERROR(OpenData(plan, setup, compute, parts));
  auto role = std::make_unique<DiscriminatorRole>(
      RoleOptionsFrom(plan, role_plan, setup.place, compute, choice,
                      plan.exchange.feedback_format),
      std::move(parts), exchange, ServicesOf(setup));
  GANDEM_RETURN_IF_ERROR(RestoreIfResumed(setup, "discriminator", *role));
  return role;
}

}  // namespace gandem
