// SPDX-License-Identifier: Apache-2.0
#include "training/plan/run_plan.h"

#include <algorithm>

#include "common/config/loss_needs.h"
#include "common/config/run_config.h"
#include "common/philox.h"
#include "exchange/config_schedule.h"
#include "models/torch.h"

namespace gandem {
namespace {

ExchangeOptions ExchangeOf(const RunConfig& config, uint64_t config_hash) {
  const ExchangeConfig& exchange = config.exchange();
  const RoleConfig& discriminator = config.discriminator();
  const ImageShape image = DataShapeOf(config.data()).image;
  const TensorFormat format{.layout = LayoutOf(config.generator().layout()),
                            .channels = image.channels,
                            .height = image.height,
                            .width = image.width};
  ExchangeOptions options{
      .schedule = ScheduleOf(config),
      .max_samples_per_image = config.schedule().max_samples_per_image(),
      .cache_rounds = exchange.cache_rounds(),
      .cache_bytes = exchange.cache_bytes(),
      .max_message_bytes = exchange.max_message_bytes(),
      .image_format = format,
      .feedback_format = format,
      .config_hash = config_hash,
      .num_generators = config.generator().workers(),
      .num_discriminators = discriminator.workers(),
      .discriminator_skew =
          discriminator.workers() > 1 ? StepsToAgreement(discriminator) : 0,
  };
  options.image_format.encoding = EncodingOf(exchange.image_encoding());
  options.feedback_format.encoding = EncodingOf(exchange.feedback_encoding());
  return options;
}

uint64_t NoiseSeed(const RunConfig& config, int64_t rollbacks) {
  if (rollbacks == 0) return config.seed();
  PhiloxStream stream(config.seed(), Purpose::kRollback,
                      static_cast<uint64_t>(rollbacks), /*index=*/0);
  return stream.NextUint64();
}

ObjectiveOptions ObjectiveOf(const RunConfig& config, uint64_t noise_seed) {
  const PenaltyConfig& penalties = config.penalties();
  return {.loss = config.loss(),
          .class_loss = ClassLossFrom(config.class_loss()),
          .penalties = PenaltiesFrom(penalties),
          .path_length = {.weight = penalties.path_length(),
                          .every_steps = penalties.path_length_every_steps(),
                          .batch_shrink = penalties.path_length_batch_shrink(),
                          .separate = penalties.lazy_update() ==
                                      PenaltyConfig::SEPARATE},
          .augmentation = AugmentFrom(config.augmentation()),
          .paired_l1 = config.paired_loss().l1(),
          .paired_adversarial = config.paired_loss().adversarial(),
          .fused_in_one_pass =
              config.schedule().fused_backward() == ScheduleConfig::ONE_PASS,
          .seed = noise_seed};
}

NetworkPlan NetworkOf(const RunConfig& config, Role role,
                      const RoleConfig& role_config) {
  return {.role = role,
          .network = role_config.network(),
          .data = DataShapeOf(config.data()),
          .seed = config.seed(),
          .batch_size = role_config.batch_size(),
          .micro_batch = role_config.micro_batch(),
          .device = role_config.device(),
          .threads = role_config.threads(),
          .precision = role_config.precision(),
          .layout = role_config.layout(),
          .deterministic = role_config.deterministic(),
          .may_be_float16 =
              role == GENERATOR || !HasGradientPenalty(config.penalties()),
          .recompute_blocks = role_config.recompute_blocks()};
}

GradientSynchronizer::Options SyncOf(const SyncConfig& sync) {
  using Mode = GradientSynchronizer::Mode;
  return {.mode = sync.mode() == SyncConfig::AVERAGE_STATE ? Mode::kAverageState
                                                           : Mode::kAccumulate,
          .interval = sync.interval(),
          .bucket_bytes = sync.bucket_bytes(),
          .wire = sync.wire() == SyncConfig::BFLOAT16 ? at::kBFloat16
                  : sync.wire() == SyncConfig::FLOAT16
                      ? at::kHalf
                      : at::ScalarType::Undefined,
          .divergence_check_interval = sync.divergence_check_interval()};
}

int64_t LazyEvery(const PenaltyConfig& penalties, Role role) {
  if (penalties.lazy_update() != PenaltyConfig::SEPARATE) return 0;
  if (role == GENERATOR) {
    return penalties.path_length() > 0 ? penalties.path_length_every_steps()
                                       : 0;
  }
  return penalties.r1() > 0 ? penalties.gradient_every_steps() : 0;
}

RolePlan RoleOf(const RunConfig& config, Role role) {
  const RoleConfig& role_config =
      role == GENERATOR ? config.generator() : config.discriminator();
  const LossScaleConfig& scale = role_config.loss_scale();
  RolePlan plan = {
      .network = NetworkOf(config, role, role_config),
      .workers = role_config.workers(),
      .step_batch = StepBatch(role_config),
      .step_batches = StepBatches(role_config),
      .steps_to_agreement = StepsToAgreement(role_config),
      .freeze = {role_config.freeze().begin(), role_config.freeze().end()},
      .optimizer = role_config.optimizer(),
      .optimizer_use = {.rounds = config.rounds(),
                        .batch_size = StepBatch(role_config),
                        .lazy_every = LazyEvery(config.penalties(), role)},
      .loss_scale = {.initial_scale = scale.initial(),
                     .growth_factor = scale.growth_factor(),
                     .backoff_factor = scale.backoff_factor(),
                     .growth_interval = scale.growth_interval()},
      .sync = SyncOf(role_config.sync()),
      .syncs_batch_norm = role_config.sync().batch_norm(),
      .uses_nccl = role_config.workers() > 1 &&
                   role_config.sync().collective() == SyncConfig::NCCL};
  if (role == DISCRIMINATOR) {
    plan.optimizer_use.steps_per_round =
        config.schedule().discriminator_steps_per_round();
  }
  if (role_config.clip_gradient_norm() > 0) {
    plan.clip_gradient_norm = role_config.clip_gradient_norm();
  }
  return plan;
}

Ema::Options EmaOf(const RunConfig& config) {
  const EmaConfig& ema = config.ema();
  return {.decay = ema.decay(),
          .half_life_images = ema.half_life_images(),
          .ramp_up = ema.ramp_up(),
          .half_life_ramp_images = ema.half_life_ramp_images(),
          .batch_size = StepBatch(config.generator()),
          .start_round = ema.start_round(),
          .rounds_per_update = StepsToAgreement(config.generator()),
          .copy_buffers = ema.buffers() == EmaConfig::COPIED};
}

// Limits a run to 100 heartbeats per second, all of which one process receives.
absl::Duration HeartbeatInterval(const RunConfig& config) {
  const ControlConfig& control = config.control();
  const absl::Duration paced =
      absl::Milliseconds(10) *
      (config.generator().workers() + config.discriminator().workers());
  return std::max(
      absl::Seconds(control.heartbeat_seconds()),
      std::min(paced, absl::Seconds(control.heartbeat_timeout_seconds()) / 10));
}

ControlPlan ControlOf(const RunConfig& config) {
  const ControlConfig& control = config.control();
  return {
      .heartbeat = HeartbeatInterval(config),
      .heartbeat_timeout = absl::Seconds(control.heartbeat_timeout_seconds()),
      .join_timeout = absl::Seconds(control.join_timeout_seconds()),
      .grace = absl::Seconds(control.grace_seconds()),
      .metrics_every_rounds = control.metrics_every_rounds(),
      .noise_scale_every_rounds = control.noise_scale_every_rounds(),
      .ends_on_health_warning =
          control.on_divergence() == ControlConfig::STOP_EARLY,
      .poll = absl::Seconds(config.exchange().poll_seconds())};
}

}  // namespace

RunPlan MakeRunPlan(const EffectiveRunConfig& effective, int64_t rollbacks) {
  const RunConfig& config = *effective;
  const uint64_t noise_seed = NoiseSeed(config, rollbacks);
  return {.noise_seed = noise_seed,
          .rounds = config.rounds(),
          .checkpoint_every_rounds = config.checkpoint().every_rounds(),
          .exchange = ExchangeOf(config, effective.Hash()),
          .objective = ObjectiveOf(config, noise_seed),
          .judges_with_real_images =
              NeedsOf(config.loss()).real_images_in_generator_step &&
              config.schedule().feedback() != ScheduleConfig::FUSED,
          .generator = RoleOf(config, GENERATOR),
          .discriminator = RoleOf(config, DISCRIMINATOR),
          .data = {.files = config.data(),
                   .shape = DataShapeOf(config.data()),
                   .seed = config.seed(),
                   .generator_batch = StepBatch(config.generator()),
                   .discriminator_batch = StepBatch(config.discriminator())},
          .ema = EmaOf(config),
          .samples = {.seed = config.seed(),
                      .every_rounds = config.samples().every_rounds(),
                      .num_images = config.samples().num_images()},
          .control = ControlOf(config)};
}

RunPlan WithDevices(RunPlan plan, int position) {
  NetworkPlan& generator = plan.generator.network;
  NetworkPlan& discriminator = plan.discriminator.network;
  const bool asks =
      generator.device == "cuda" || discriminator.device == "cuda";
  const int num_gpus = asks ? static_cast<int>(torch::cuda::device_count()) : 0;
  generator.device = DeviceOf(generator, position, num_gpus);
  discriminator.device = DeviceOf(discriminator, position, num_gpus);
  return plan;
}

ExchangeOptions ExchangeAt(const RunPlan& plan, const EpochPlace& place) {
  ExchangeOptions options = plan.exchange;
  options.first_round = place.first_round;
  options.run_epoch = place.run_epoch;
  options.incarnation = place.incarnation;
  options.rank = place.rank;
  return options;
}

}  // namespace gandem
