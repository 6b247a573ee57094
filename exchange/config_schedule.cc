// SPDX-License-Identifier: Apache-2.0
#include "exchange/config_schedule.h"

#include "common/config/fused_feedback.h"
#include "common/config/run_config.h"

namespace gandem {
namespace {

// Equal numbers in both enums avoid a third list of the modes.
FeedbackMode FeedbackOf(ScheduleConfig::FeedbackMode mode) {
  static_assert(static_cast<int>(FeedbackMode::kSnapshot) ==
                ScheduleConfig::SNAPSHOT);
  static_assert(static_cast<int>(FeedbackMode::kImageGradient) ==
                ScheduleConfig::IMAGE_GRADIENT);
  static_assert(static_cast<int>(FeedbackMode::kFused) ==
                ScheduleConfig::FUSED);
  return static_cast<FeedbackMode>(mode);
}

}  // namespace

Schedule ScheduleOf(const RunConfig& config) {
  const ScheduleConfig& schedule = config.schedule();
  return {
      .lag = schedule.lag(),
      .discriminator_steps_per_round = schedule.discriminator_steps_per_round(),
      .consistency = schedule.consistency() == ScheduleConfig::BOUNDED
                         ? Consistency::kBounded
                         : Consistency::kExact,
      .image_source = schedule.image_source() == ScheduleConfig::FRESH
                          ? ImageSource::kFresh
                          : ImageSource::kReused,
      .feedback = FeedbackOf(schedule.feedback()),
      .generator_batch = StepBatch(config.generator()),
      .discriminator_batch = StepBatch(config.discriminator()),
      .generator_batches = StepBatches(config.generator()),
      .discriminator_batches = StepBatches(config.discriminator()),
      .generator_micro_batch = config.generator().micro_batch(),
      .discriminator_micro_batch = config.discriminator().micro_batch(),
      .real_first = RealImagesFirst(config),
  };
}

Encoding EncodingOf(ExchangeConfig::Encoding encoding) {
  switch (encoding) {
    case ExchangeConfig::FLOAT32:
      return Encoding::kFloat32;
    case ExchangeConfig::BFLOAT16:
      return Encoding::kBfloat16;
    case ExchangeConfig::UINT8:
      return Encoding::kUint8;
    case ExchangeConfig::FLOAT64:
      return Encoding::kFloat64;
  }
  return Encoding::kFloat32;
}

}  // namespace gandem
