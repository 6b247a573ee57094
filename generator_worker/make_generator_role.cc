// SPDX-License-Identifier: Apache-2.0
#include "generator_worker/make_generator_role.h"

#include <torch/torch.h>

#include <utility>

#include "common/config/data_shape.h"
#include "common/config/run_config.h"
#include "common/status.h"
#include "generator_worker/generator_role.h"
#include "generator_worker/sample_writer.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "training/compute/choose_compute.h"
#include "training/compute/place_network.h"
#include "training/inputs/pairs.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

absl::StatusOr<std::shared_ptr<Generator>> NewGenerator(
    const RunConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(
      std::shared_ptr<Generator> network,
      MakeGenerator(config.generator().network(), DataShapeOf(config.data())));
  InitializeParameters(*network, config.generator().network(), config.seed());
  return network;
}

// Wherever it judges, the critic computes as the discriminator's role does; the
// device and its threads are those of the process.
CriticFactory CriticsOf(const RunConfig& config, const RoleSetup& setup,
                        const Compute& process) {
  return [=]() -> absl::StatusOr<Critic> {
    RoleConfig role = config.discriminator();
    role.set_device(config.generator().device());
    role.set_threads(process.threads);
    GANDEM_ASSIGN_OR_RETURN(
        const Compute compute,
        ComputeFrom(role, Resolve(role, setup.discriminator_choice)));
    GANDEM_ASSIGN_OR_RETURN(auto network, NewDiscriminator(config, compute));
    SyncIfAsked(config.discriminator(), setup, *network);
    return Critic{.network = std::move(network), .compute = compute};
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRole>> MakeGeneratorRole(
    const RunConfig& config, const RoleSetup& setup,
    GeneratorExchange* exchange) {
  const RoleConfig& role_config = config.generator();
  const Schedule schedule = ScheduleFrom(config);
  const ComputeChoice choice = Resolve(role_config, setup.generator_choice);
  GANDEM_ASSIGN_OR_RETURN(const Compute compute,
                          ComputeFrom(role_config, choice));
  UseThreads(compute);
  GeneratorRole::Parts parts;
  GANDEM_ASSIGN_OR_RETURN(auto network, NewGenerator(config));
  GANDEM_ASSIGN_OR_RETURN(
      parts.network, PlaceNetwork(std::move(network), role_config, compute));
  SyncIfAsked(role_config, setup, *parts.network);
  GANDEM_ASSIGN_OR_RETURN(auto average, NewGenerator(config));
  parts.average = PlaceAtRest(std::move(average), compute);
  parts.scaler = NewScaler(role_config, compute);
  parts.ema = std::make_unique<Ema>(
      Ema::Options{.decay = config.ema().decay(),
                   .half_life_images = config.ema().half_life_images(),
                   .ramp_up = config.ema().ramp_up(),
                   .batch_size = schedule.generator_batch,
                   .start_round = config.ema().start_round(),
                   .rounds_per_update = StepsToAgreement(role_config),
                   .copy_buffers = config.ema().buffers() == EmaConfig::COPIED},
      *parts.network, *parts.average);
  parts.new_critic = CriticsOf(config, setup, compute);
  GANDEM_ASSIGN_OR_RETURN(
      parts.optimizer,
      MakeOptimizer(
          config.generator().optimizer(), ParametersOf(*parts.network),
          {.rounds = config.rounds(), .batch_size = schedule.generator_batch}));
  parts.synchronizer =
      NewSynchronizer(role_config, setup, schedule.generator_batch,
                      *parts.network, *parts.optimizer, parts.scaler.get());
  parts.noise = KeyedNoise(config.seed(), parts.network->noise_dim(), compute);
  if (HasPairs(config)) {
    GANDEM_ASSIGN_OR_RETURN(parts.pairs, OpenPairReader(config, compute));
  }
  GANDEM_ASSIGN_OR_RETURN(parts.condition,
                          OpenConditions(config, parts.pairs, compute.device));
  if (!setup.run_dir.empty() && setup.place.rank == 0) {
    parts.write_samples = SampleWriter(config, parts.condition, parts.pairs,
                                       setup.run_dir, compute);
  }
  auto role = std::make_unique<GeneratorRole>(
      RoleOptionsFrom(config, config.generator(), setup.place, compute, choice,
                      ExchangeOptionsFrom(config, setup.place).image_format),
      std::move(parts), exchange, ServicesOf(setup));
  GANDEM_RETURN_IF_ERROR(RestoreIfResumed(setup, "generator", *role));
  return role;
}

}  // namespace gandem
