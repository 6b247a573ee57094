// SPDX-License-Identifier: Apache-2.0
#include "common/config/run_config.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/config/fused_feedback.h"
#include "common/config/locate_faults.h"
#include "common/config/optimizer_validate.h"
#include "common/config/resnet_plan.h"
#include "common/config/validate_parts.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// Writes the default of an unset field.
void WriteDefault(Message& message, const FieldDescriptor& field) {
  if (field.message_type() != nullptr) {
    message.GetReflection()->MutableMessage(&message, &field);
    return;
  }
  std::string value;
  TextFormat::PrintFieldValueToString(message, &field, /*index=*/-1, &value);
  GANDEM_CHECK(TextFormat::ParseFieldValueFromString(value, &field, &message));
}

void WriteDefaults(Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    // Lists have no default, but their messages do; only the chosen member of a
    // oneof counts.
    const bool fixed =
        field.is_repeated() || field.containing_oneof() != nullptr;
    if (!fixed && !reflection.HasField(message, &field)) {
      WriteDefault(message, field);
    }
    if (field.message_type() == nullptr) continue;
    if (field.is_repeated()) {
      for (int j = 0; j < reflection.FieldSize(message, &field); ++j) {
        WriteDefaults(*reflection.MutableRepeatedMessage(&message, &field, j));
      }
    } else if (reflection.HasField(message, &field)) {
      WriteDefaults(*reflection.MutableMessage(&message, &field));
    }
  }
}

void ChooseAdamByDefault(RoleConfig& role) {
  if (role.optimizer().family_case() == OptimizerConfig::FAMILY_NOT_SET) {
    role.mutable_optimizer()->mutable_adam();
  }
}

// Fixes the end of a decay at the start of a run. Otherwise a resumed run with
// more rounds would silently stretch it and raise the learning rate.
void FixEndOfDecay(int64_t rounds, RoleConfig& role) {
  const RateScheduleConfig& schedule = role.optimizer().rate_schedule();
  if (schedule.shape() == RateScheduleConfig::CONSTANT ||
      schedule.decay_until_round() != 0) {
    return;
  }
  role.mutable_optimizer()->mutable_rate_schedule()->set_decay_until_round(
      rounds);
}

// Resolves both roles before changing either, because they interact.
void ResolveOptimism(RunConfig& config) {
  const OptimizerConfig generator = ResolvedOptimizer(config, GENERATOR);
  *config.mutable_discriminator()->mutable_optimizer() =
      ResolvedOptimizer(config, DISCRIMINATOR);
  *config.mutable_generator()->mutable_optimizer() = generator;
}

// Removes fields that are not used. Properties of a `source` are already filled
// in (pipeline/sources/open_dataset.h).
void ResolveImages(DataConfig& data) {
  if (!data.source().empty()) {
    data.set_idx_images("");
    data.set_idx_labels("");
  } else if (data.channels() == 0) {
    data.set_channels(1);
  }
}

// Sets the noise dimension if the config omits it.
void ResolveNoise(const DataConfig& data, NetworkConfig& generator) {
  if (generator.has_python() && HasPairs(data)) {
    generator.mutable_python()->set_noise_dim(0);
  }
  if (generator.has_biggan()) {
    BigganConfig& biggan = *generator.mutable_biggan();
    biggan.set_noise_dim(
        PlanOf(biggan, DataShapeOf(data).image.height).noise_dim);
  }
}

}  // namespace

absl::StatusOr<RunConfig> LoadRunConfig(const std::string& path,
                                        std::span<const std::string> sets) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  return ParseRunConfig(text, path, sets);
}

absl::StatusOr<RunConfig> ParseRunConfig(absl::string_view text,
                                         absl::string_view file,
                                         std::span<const std::string> sets) {
  RunConfig config;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, file, config));
  GANDEM_RETURN_IF_ERROR(SetFields(sets, config));
  GANDEM_RETURN_IF_ERROR(
      LocateFaults(FaultsOf(config), text, file, sets, config));
  return config;
}

RunConfig EffectiveConfig(const RunConfig& config) {
  RunConfig effective = config;
  ResolveNoise(effective.data(),
               *effective.mutable_generator()->mutable_network());
  ChooseAdamByDefault(*effective.mutable_generator());
  ChooseAdamByDefault(*effective.mutable_discriminator());
  WriteDefaults(effective);
  FixEndOfDecay(effective.rounds(), *effective.mutable_generator());
  FixEndOfDecay(effective.rounds(), *effective.mutable_discriminator());
  if (effective.exchange().cache_rounds() == 0) {
    effective.mutable_exchange()->set_cache_rounds(effective.schedule().lag() +
                                                   1);
  }
  effective.mutable_schedule()->set_fused_backward(FusedBackwardOf(effective));
  ResolveOptimism(effective);
  ResolveImages(*effective.mutable_data());
  return effective;
}

std::string EffectiveConfigText(const RunConfig& config) {
  return EffectiveRunConfig::OfValid(config).Text();
}

uint64_t ConfigHash(const RunConfig& config) {
  return EffectiveRunConfig::OfValid(config).Hash();
}

absl::StatusOr<EffectiveRunConfig> EffectiveRunConfig::Parse(
    absl::string_view text, absl::string_view file) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          ParseRunConfig(text, file, {}));
  return OfValid(config);
}

EffectiveRunConfig EffectiveRunConfig::WithWorkers(int generators,
                                                   int discriminators) const {
  EffectiveRunConfig other = *this;
  other.config_.mutable_generator()->set_workers(generators);
  other.config_.mutable_discriminator()->set_workers(discriminators);
  return other;
}

std::string EffectiveRunConfig::Text() const {
  TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  GANDEM_CHECK(printer.PrintToString(config_, &text));
  return text;
}

uint64_t EffectiveRunConfig::Hash() const {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    GANDEM_CHECK(config_.SerializeToCodedStream(&coded));
  }
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

bool HasPairs(const DataConfig& data) {
  return !data.idx_inputs().empty() || !data.inputs().empty() ||
         data.side_by_side() != DataConfig::NO_PAIRS;
}

const std::string& ImagesPath(const DataConfig& data) {
  return data.source().empty() ? data.idx_images() : data.source();
}

DataShape DataShapeOf(const DataConfig& data) {
  // If the images were not inspected, assumes gray for IDX and RGB otherwise.
  const int64_t unknown = data.source().empty() ? 1 : 3;
  return {
      .image = {.channels = data.channels() == 0 ? unknown : data.channels(),
                .height = data.image_size(),
                .width = data.image_size()},
      .num_classes = data.num_classes()};
}

int64_t StepBatches(const RoleConfig& role) {
  const SyncConfig& sync = role.sync();
  if (sync.mode() != SyncConfig::ACCUMULATE) return 1;
  return std::clamp<int64_t>(sync.interval(), 1, 1 << 20);
}

int64_t StepBatch(const RoleConfig& role) {
  if (role.sync().mode() != SyncConfig::ACCUMULATE) return role.batch_size();
  // Clamped because values may not be validated yet and could overflow.
  return std::clamp<int64_t>(role.batch_size(), 1, int64_t{1} << 40) *
         StepBatches(role);
}

int64_t StepsToAgreement(const RoleConfig& role) {
  const SyncConfig& sync = role.sync();
  const bool parts =
      role.workers() > 1 && sync.mode() == SyncConfig::AVERAGE_STATE;
  return parts ? std::clamp<int64_t>(sync.interval(), 1, 1 << 20) : 1;
}

int64_t RoundsToAgreement(const RunConfig& config) {
  const int64_t generator = StepsToAgreement(config.generator());
  const int64_t steps = std::clamp<int64_t>(
      config.schedule().discriminator_steps_per_round(), 1, 1 << 20);
  const int64_t discriminator_steps = StepsToAgreement(config.discriminator());
  return std::lcm(generator,
                  discriminator_steps / std::gcd(discriminator_steps, steps));
}

}  // namespace gandem
