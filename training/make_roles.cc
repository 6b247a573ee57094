// SPDX-License-Identifier: Apache-2.0
#include "training/make_roles.h"

#include <torch/torch.h>

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint_shards.h"
#include "common/data_shape.h"
#include "common/loss_needs.h"
#include "common/run_config.h"
#include "common/status.h"
#include "models/initialize.h"
#include "models/layers/batch_norm.h"
#include "models/registry.h"
#include "pipeline/open_dataset.h"
#include "pipeline/prefetcher.h"
#include "training/choose_compute.h"
#include "training/optimizers/make_optimizer.h"
#include "training/pairs.h"
#include "training/place_network.h"
#include "training/sample_writer.h"
#include "training/sync_batch_norm.h"

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

RoleOptions OptionsOf(const RunConfig& config, const RoleConfig& role,
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

absl::StatusOr<std::shared_ptr<Generator>> NewGenerator(
    const RunConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(
      std::shared_ptr<Generator> network,
      MakeGenerator(config.generator().network(), DataShapeOf(config.data())));
  InitializeParameters(*network, config.generator().network(), config.seed());
  return network;
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

// Wherever it judges, the critic computes as the discriminator's role does; the
// device and its threads are those of the process.
absl::StatusOr<Compute> CriticComputeFrom(const RunConfig& config,
                                          const RoleSetup& setup,
                                          const Compute& process) {
  RoleConfig role = config.discriminator();
  role.set_device(config.generator().device());
  role.set_threads(process.threads);
  return ComputeFrom(role, Resolve(role, setup.discriminator_choice));
}

absl::StatusOr<TensorReader> ReadState(const RoleSetup& setup,
                                       const std::string& role) {
  GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors,
                          ReadShards(setup.resume_from, role));
  return TensorReader(std::move(tensors));
}

RoleServices ServicesOf(const RoleSetup& setup) {
  RoleServices services = setup.services;
  services.fleet = setup.fleet.tensors;
  return services;
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

// `network` sees the images of all workers of this one's role, if `role`, whose
// network it is, wants that. For networks that all of them run in step; an
// average or a sample is one rank's own.
void SyncIfAsked(const RoleConfig& role, const RoleSetup& setup,
                 torch::nn::Module& network) {
  if (setup.fleet.host == nullptr || !role.sync().batch_norm()) return;
  SyncBatchNorm(network, GatherOver(setup.fleet.host));
}

// The real images of steps of `batch_size` from `first_step` on.
absl::StatusOr<RealImageSource> ReadRealImages(
    const RunConfig& config, std::shared_ptr<const Dataset> dataset,
    int64_t batch_size, int64_t first_step, int rank, const Compute& compute) {
  const IndexRange slice =
      RankSlice(batch_size, rank, config.discriminator().workers());
  GANDEM_ASSIGN_OR_RETURN(
      std::shared_ptr<Prefetcher> prefetcher,
      Prefetcher::Create(dataset, {.seed = config.seed(),
                                   .first_step = first_step,
                                   .batch_size = batch_size,
                                   .first_image = slice.first,
                                   .num_images = slice.count,
                                   .depth = config.data().prefetch_batches()}));
  const ImageShape shape = dataset->shape();
  const bool has_classes = config.data().num_classes() > 0;
  const bool has_pairs = HasPairs(config);
  const int64_t channels = DataShapeOf(config.data()).image.channels;
  return RealImageSource(
      [=](int64_t step, absl::Time deadline) -> absl::StatusOr<RealImages> {
        GANDEM_ASSIGN_OR_RETURN(const RealBatch batch,
                                prefetcher->Next(deadline));
        if (batch.step != step) {
          return absl::InternalError(absl::StrCat(
              "real images of step ", batch.step, ", wanted ", step));
        }
        const TensorFormat format{.channels = shape.channels,
                                  .height = shape.height,
                                  .width = shape.width};
        RealImages real = {.images_NCHW = UnpackImages(
                               batch.pixels, slice.count, format, compute)};
        if (has_pairs) return SplitPairs(real.images_NCHW, channels, compute);
        if (has_classes) {
          real.condition.labels_N =
              torch::tensor(batch.labels, at::kLong).to(compute.device);
        }
        return real;
      });
}

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

absl::StatusOr<std::unique_ptr<GeneratorRole>> MakeGeneratorRole(
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
  if (config.schedule().feedback() == ScheduleConfig::SNAPSHOT) {
    GANDEM_ASSIGN_OR_RETURN(parts.critic_compute,
                            CriticComputeFrom(config, setup, compute));
    GANDEM_ASSIGN_OR_RETURN(parts.critic,
                            NewDiscriminator(config, parts.critic_compute));
    SyncIfAsked(config.discriminator(), setup, *parts.critic);
  }
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
      OptionsOf(config, config.generator(), setup.place, compute, choice,
                ExchangeOptionsFrom(config, setup.place).image_format),
      std::move(parts), exchange, ServicesOf(setup));
  if (!setup.resume_from.empty()) {
    GANDEM_ASSIGN_OR_RETURN(const TensorReader state,
                            ReadState(setup, "generator"));
    GANDEM_RETURN_IF_ERROR(role->Restore(state));
  }
  return role;
}

absl::StatusOr<std::unique_ptr<DiscriminatorRole>> MakeDiscriminatorRole(
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
      OptionsOf(config, config.discriminator(), setup.place, compute, choice,
                ExchangeOptionsFrom(config, setup.place).feedback_format),
      std::move(parts), exchange, ServicesOf(setup));
  if (!setup.resume_from.empty()) {
    GANDEM_ASSIGN_OR_RETURN(const TensorReader state,
                            ReadState(setup, "discriminator"));
    GANDEM_RETURN_IF_ERROR(role->Restore(state));
  }
  return role;
}

}  // namespace gandem
