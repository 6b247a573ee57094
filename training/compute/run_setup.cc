// SPDX-License-Identifier: Apache-2.0
#include "training/compute/run_setup.h"

#include <torch/torch.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/config/data_shape.h"
#include "common/config/micro_batch.h"
#include "common/config/run_config.h"

namespace gandem {
namespace {

Encoding ToEncoding(ExchangeConfig::Encoding encoding) {
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

Layout ToLayout(MemoryLayout layout) {
  return layout == CHANNELS_LAST ? Layout::kChannelsLast : Layout::kNchw;
}

std::optional<at::ScalarType> ToAutocast(RoleConfig::Precision precision) {
  switch (precision) {
    case RoleConfig::BFLOAT16:
      return at::kBFloat16;
    case RoleConfig::FLOAT16:
      return at::kHalf;
    default:
      return std::nullopt;
  }
}

}  // namespace

const RoleConfig& RoleConfigOf(const RunConfig& config, Role role) {
  return role == GENERATOR ? config.generator() : config.discriminator();
}

Schedule ScheduleFrom(const RunConfig& config) {
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
      .feedback = static_cast<FeedbackMode>(schedule.feedback()),
      .generator_batch = StepBatch(config.generator()),
      .discriminator_batch = StepBatch(config.discriminator()),
      .generator_micro_batch = MicroBatch(config.generator()),
      .discriminator_micro_batch = MicroBatch(config.discriminator()),
  };
}

absl::StatusOr<Compute> ComputeFrom(const RoleConfig& role,
                                    const ComputeChoice& choice) {
  const at::Device device(role.device());
  if (device.is_cuda()) {
    const int64_t present = static_cast<int64_t>(torch::cuda::device_count());
    if (device.index() >= present) {
      return absl::FailedPreconditionError(absl::StrCat(
          "device: \"", role.device(), "\" is not there: this machine has ",
          present, " CUDA devices",
          present == 0 ? " that this build can use (GANDEM_CUDA=ON, a CUDA "
                         "LibTorch and a driver are needed)"
                       : "",
          "; --set generator.device=cpu --set discriminator.device=cpu runs "
          "without"));
    }
  }
  GANDEM_CHECK(choice.precision() != RoleConfig::AUTO &&
               choice.layout() != AUTO);
  return Compute{
      .device = device,
      .dtype =
          choice.precision() == RoleConfig::FLOAT64 ? at::kDouble : at::kFloat,
      .layout = ToLayout(choice.layout()),
      .threads = role.threads(),
      .autocast = ToAutocast(choice.precision()),
      .tf32 = choice.precision() == RoleConfig::TF32,
  };
}

std::string DeviceOf(const RoleConfig& role, Role which, int position,
                     int num_gpus) {
  if (role.device() != "cuda") return role.device();
  if (num_gpus == 0) return "cuda:0";  // which ComputeFrom will not find
  const int place = position % num_gpus;
  return absl::StrCat("cuda:",
                      which == GENERATOR ? place : num_gpus - 1 - place);
}

RunConfig WithDevices(RunConfig config, int position) {
  const bool asks = config.generator().device() == "cuda" ||
                    config.discriminator().device() == "cuda";
  const int num_gpus = asks ? static_cast<int>(torch::cuda::device_count()) : 0;
  config.mutable_generator()->set_device(
      DeviceOf(config.generator(), GENERATOR, position, num_gpus));
  config.mutable_discriminator()->set_device(
      DeviceOf(config.discriminator(), DISCRIMINATOR, position, num_gpus));
  return config;
}

ExchangeOptions ExchangeOptionsFrom(const RunConfig& config,
                                    const EpochPlace& place) {
  const ExchangeConfig& exchange = config.exchange();
  const ImageShape image = DataShapeOf(config.data()).image;
  const TensorFormat format{.layout = ToLayout(config.generator().layout()),
                            .channels = image.channels,
                            .height = image.height,
                            .width = image.width};
  ExchangeOptions options{
      .schedule = ScheduleFrom(config),
      .max_samples_per_image = config.schedule().max_samples_per_image(),
      .first_round = place.first_round,
      .cache_rounds = exchange.cache_rounds(),
      .cache_bytes = exchange.cache_bytes(),
      .max_message_bytes = exchange.max_message_bytes(),
      .image_format = format,
      .feedback_format = format,
      .config_hash = ConfigHash(config),
      .run_epoch = place.run_epoch,
      .incarnation = place.incarnation,
      .rank = place.rank,
      .num_generators = config.generator().workers(),
      .num_discriminators = config.discriminator().workers(),
      .discriminator_skew = config.discriminator().workers() > 1
                                ? StepsToAgreement(config.discriminator())
                                : 0,
  };
  options.image_format.encoding = ToEncoding(exchange.image_encoding());
  options.feedback_format.encoding = ToEncoding(exchange.feedback_encoding());
  return options;
}

}  // namespace gandem
