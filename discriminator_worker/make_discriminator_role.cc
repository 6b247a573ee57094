// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/make_discriminator_role.h"

#include <torch/torch.h>

#include <utility>

#include "common/config/loss_needs.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "discriminator_worker/discriminator_role.h"
#include "discriminator_worker/real_images.h"
#include "models/layers/batch_norm.h"
#include "pipeline/sources/open_dataset.h"
#include "training/compute/choose_compute.h"
#include "training/fleet/sync_batch_norm.h"
#include "training/inputs/pairs.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

// Opens the dataset: for real images, and for what generated ones are made of.
absl::Status OpenData(const RunConfig& config, const RoleSetup& setup,
                      const Compute& compute, DiscriminatorRole::Parts& parts) {
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const PairReader> pairs;
  if (HasPairs(config)) {
    GANDEM_ASSIGN_OR_RETURN(dataset, OpenPairs(config.data()));
    pairs = std::make_shared<const PairReader>(config, dataset, compute);
  } else {
    GANDEM_ASSIGN_OR_RETURN(dataset, OpenDataset(config.data()));
  }
  GANDEM_ASSIGN_OR_RETURN(
      parts.condition,
      OpenConditions(config, std::move(pairs), compute.device));
  const int64_t first_round = setup.place.first_round;
  const Schedule schedule = ScheduleFrom(config);
  GANDEM_ASSIGN_OR_RETURN(
      parts.real_images,
      ReadRealImages(config, dataset, schedule.discriminator_batch,
                     first_round * schedule.discriminator_steps_per_round,
                     setup.place.rank, compute));
  if (!NeedsOf(config.loss()).real_images_in_generator_step) {
    return absl::OkStatus();
  }
  // In the same order; with REUSED images also the same in each round.
  GANDEM_ASSIGN_OR_RETURN(
      parts.judging_images,
      ReadRealImages(config, dataset, schedule.generator_batch, first_round,
                     setup.place.rank, compute));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRole>> MakeDiscriminatorRole(
    const RunConfig& config, const RoleSetup& setup,
    DiscriminatorExchange* exchange) {
  const RoleConfig& role_config = config.discriminator();
  const Schedule schedule = ScheduleFrom(config);
  const ComputeChoice choice = Resolve(role_config, setup.discriminator_choice);
  GANDEM_ASSIGN_OR_RETURN(const Compute compute,
                          ComputeFrom(role_config, choice));
  UseThreads(compute);
  DiscriminatorRole::Parts parts;
  parts.scaler = NewScaler(role_config, compute);
  GANDEM_ASSIGN_OR_RETURN(parts.network, NewDiscriminator(config, compute));
  SyncIfAsked(role_config, setup, *parts.network);
  if (config.schedule().feedback() == ScheduleConfig::IMAGE_GRADIENT &&
      config.schedule().lag() >= 2) {
    GANDEM_ASSIGN_OR_RETURN(parts.older_critic,
                            NewDiscriminator(config, compute));
  }
  GANDEM_ASSIGN_OR_RETURN(
      parts.optimizer,
      MakeOptimizer(
          config.discriminator().optimizer(), ParametersOf(*parts.network),
          {.rounds = config.rounds(),
           .steps_per_round = config.schedule().discriminator_steps_per_round(),
           .batch_size = schedule.discriminator_batch}));
  parts.synchronizer =
      NewSynchronizer(role_config, setup, schedule.discriminator_batch,
                      *parts.network, *parts.optimizer, parts.scaler.get());
  if (setup.fleet.host != nullptr) parts.fleet = GatherOver(setup.fleet.host);
  GANDEM_RETURN_IF_ERROR(OpenData(config, setup, compute, parts));
  auto role = std::make_unique<DiscriminatorRole>(
      RoleOptionsFrom(config, config.discriminator(), setup.place, compute,
                      choice,
                      ExchangeOptionsFrom(config, setup.place).feedback_format),
      std::move(parts), exchange, ServicesOf(setup));
  GANDEM_RETURN_IF_ERROR(RestoreIfResumed(setup, "discriminator", *role));
  return role;
}

}  // namespace gandem
