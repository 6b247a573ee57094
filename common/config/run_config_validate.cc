// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/config/field_ranges.h"
#include "common/config/fused_feedback.h"
#include "common/config/network_check.h"
#include "common/config/optimizer_validate.h"
#include "common/config/run_config.h"
#include "common/config/validate_parts.h"
#include "common/faults.h"

namespace gandem {
namespace {

// Room for a frame's header and gRPC's framing.
constexpr int64_t kHeaderRoom = 64 << 10;

void CheckNoControlCharacters(absl::string_view field, absl::string_view text,
                              Faults& faults) {
  if (std::ranges::any_of(text, absl::ascii_iscntrl)) {
    faults.Add(absl::StrCat(field, " has a control character"));
  }
}

bool IsDevice(absl::string_view device) {
  if (device == "cpu" || device == "cuda") return true;
  int index = -1;
  return absl::ConsumePrefix(&device, "cuda:") &&
         absl::SimpleAtoi(device, &index) && index >= 0 && index < 1024 &&
         device == absl::StrCat(index);
}

// Checks that images are given exactly once.
void CheckSource(const DataConfig& data, Faults& faults) {
  const bool has_source = !data.source().empty();
  if (!has_source && data.idx_images().empty()) {
    faults.Add("data.idx_images is empty, and data.source, too");
  }
  const std::pair<absl::string_view, bool> others[] = {
      {"idx_images", data.has_idx_images() && !data.idx_images().empty()},
      {"idx_labels", data.has_idx_labels() && !data.idx_labels().empty()},
      {"idx_inputs", !data.idx_inputs().empty()}};
  for (const auto& [name, is_set] : others) {
    if (!has_source || !is_set) continue;
    faults.Add(absl::StrCat("data.source and data.", name,
                            " are both set: leave one of them out"));
  }
  const bool side_by_side = data.side_by_side() != DataConfig::NO_PAIRS;
  if (!has_source && (side_by_side || !data.inputs().empty())) {
    faults.Add(absl::StrCat(
        side_by_side ? "data.side_by_side" : "data.inputs",
        " goes with data.source: set it, or take data.idx_inputs"));
  }
  if (side_by_side && !data.inputs().empty()) {
    faults.Add(
        "data.inputs and data.side_by_side are both set: pairs are either two "
        "sources or two halves of an image");
  }
}

// Checks the selection and order of images.
void CheckChoice(const DataConfig& data, Faults& faults) {
  if (!data.exclude().empty() && data.source().empty()) {
    faults.Add("data.exclude goes with data.source: set it, or leave it out");
  }
  if (!data.member().empty() && data.source().empty()) {
    faults.Add("data.member goes with data.source: set it, or leave it out");
  }
  const std::string& hash = data.exclude_sha256();
  if (!hash.empty() && (hash.size() != 64 || data.exclude().empty())) {
    faults.Add(
        "data.exclude_sha256 is not the SHA-256 of data.exclude, 64 "
        "hexadecimal digits: leave it out, `gandem train` writes it");
  }
  const std::string& listing = data.listing_sha256();
  if (!listing.empty() && (listing.size() != 64 || data.source().empty())) {
    faults.Add(
        "data.listing_sha256 is not the SHA-256 of a list of data.source, 64 "
        "hexadecimal digits: leave it out, `gandem train` writes it");
  }
}

void CheckData(const DataConfig& data, Faults& faults) {
  CheckSource(data, faults);
  CheckChoice(data, faults);
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  data.GetReflection()->ListFields(data, &fields);
  for (const auto* const field : fields) {
    if (field->type() != google::protobuf::FieldDescriptor::TYPE_STRING) {
      continue;
    }
    CheckNoControlCharacters(absl::StrCat("data.", field->name()),
                             data.GetReflection()->GetString(data, field),
                             faults);
  }
  // A source of tensors may have other channels, which are unknown here.
  if (data.source().empty() && data.channels() != 0 && data.channels() != 1 &&
      data.channels() != 3) {
    faults.Add(absl::StrCat("data.channels ", data.channels(),
                            " is none of 1 (gray), 3 (RGB) and 0 (as the "
                            "images are)"));
  }
  if (data.num_classes() > 0 && data.source().empty() &&
      data.idx_labels().empty()) {
    faults.Add(absl::StrCat("data.num_classes ", data.num_classes(),
                            " needs the labels of the images: set "
                            "data.idx_labels, or data.num_classes=0 for "
                            "networks that are not told them"));
  }
  const auto draw = data.generated_labels();
  if (draw != DataConfig::UNIFORM && data.num_classes() == 0) {
    faults.Add(absl::StrCat("data.generated_labels ",
                            DataConfig::LabelDraw_Name(draw),
                            " draws labels, and data.num_classes is 0: set it "
                            "to their number, or generated_labels=UNIFORM"));
  }
}

void CheckConsistency(const ScheduleConfig& schedule, Faults& faults) {
  const bool bounded = schedule.consistency() == ScheduleConfig::BOUNDED;
  if (bounded && schedule.lag() == 0) {
    faults.Add(
        "schedule.consistency BOUNDED needs lag >= 1: with lag 0 no version "
        "may differ, which is EXACT");
  }
  if (!bounded && schedule.max_samples_per_image() > 1) {
    faults.Add(
        "schedule.max_samples_per_image > 1 needs consistency BOUNDED: under "
        "EXACT each image is used once");
  }
}

void CheckRole(const std::string& name, const RoleConfig& role,
               const DataConfig& data, int64_t rounds, Faults& faults) {
  if (!IsDevice(role.device())) {
    faults.Add(absl::StrCat(name, ".device '", role.device(),
                            "' is none of cpu, cuda and cuda:N"));
  }
  const auto* const family = FamilyFieldOf(role.network());
  if (role.recompute_blocks() && family != nullptr &&
      !family->options().GetExtension(has_blocks)) {
    faults.Add(absl::StrCat(name, ".recompute_blocks: ", family->name(),
                            " is not made of blocks; set it to false, or take "
                            "micro_batch to save memory"));
  }
  CheckNetwork(name + ".network", role.network(), DataShapeOf(data), faults);
  CheckOptimizer(name + ".optimizer.", role.optimizer(), rounds, faults);
  for (int i = 0; i < role.freeze_size(); ++i) {
    if (!role.freeze(i).empty()) continue;
    faults.Add(absl::StrCat(name, ".freeze[", i,
                            "] is empty: name the parameters that keep their "
                            "values, as in \"main.0.*\", or remove it"));
  }
}

// Returns the field of `data` that selects the images to translate.
absl::string_view FieldOfInputs(const DataConfig& data) {
  return !data.idx_inputs().empty() ? "idx_inputs"
         : !data.inputs().empty()   ? "inputs"
                                    : "side_by_side";
}

constexpr absl::string_view kNoInputs =
    " translates images: set data.idx_inputs to a file of them (or data.source "
    "with data.inputs or data.side_by_side), or ";

// A Python generator translates images if the data has inputs.
void CheckPythonTranslation(const RunConfig& config, Faults& faults) {
  const PythonConfig& network = config.generator().network().python();
  if (!network.has_noise_dim()) return;
  const std::string name =
      absl::StrCat("generator.network.python.noise_dim ", network.noise_dim());
  if (network.noise_dim() == 0 && !HasPairs(config.data())) {
    faults.Add(absl::StrCat(name, kNoInputs, "give it a dimension of noise"));
  }
  if (network.noise_dim() > 0 && HasPairs(config.data())) {
    faults.Add(absl::StrCat(name, ": forward gets the images of data.",
                            FieldOfInputs(config.data()),
                            " and no noise: remove noise_dim"));
  }
}

void CheckTranslation(const RunConfig& config, Faults& faults) {
  const bool has_inputs = HasPairs(config.data());
  const int64_t channels = DataShapeOf(config.data()).image.channels;
  const auto check = [&](const std::string& path, const NetworkConfig& network,
                         bool generates) {
    const auto* const family = FamilyFieldOf(network);
    if (family == nullptr) return;
    const std::string name = absl::StrCat(path, ".", family->name());
    const bool translates = family->options().GetExtension(paired_images);
    if (translates && !has_inputs) {
      faults.Add(absl::StrCat(name, kNoInputs, "choose another network"));
    }
    if (generates && !translates && has_inputs && !network.has_python()) {
      const absl::string_view field = FieldOfInputs(config.data());
      faults.Add(absl::StrCat(
          "data.", field, " are to be translated, and ", name,
          " does not do that: use pix2pix or a network of your own in Python, "
          "or set data.",
          field, "=", field == "side_by_side" ? "NO_PAIRS" : "\"\""));
    }
    const int64_t inputs = network.pix2pix().input_channels();
    if (inputs > 0 && inputs != channels) {
      faults.Add(absl::StrCat(name, ".input_channels ", inputs, " is not the ",
                              channels, " of data.channels"));
    }
  };
  check("generator.network", config.generator().network(), true);
  check("discriminator.network", config.discriminator().network(), false);
}

void CheckEma(const EmaConfig& ema, Faults& faults) {
  if (ema.ramp_up() > 0 && ema.half_life_images() == 0) {
    faults.Add("ema.ramp_up shortens ema.half_life_images: set that as well");
  }
  if (ema.half_life_ramp_images() > 0 &&
      (ema.half_life_images() == 0 || ema.ramp_up() > 0)) {
    faults.Add(
        "ema.half_life_ramp_images says how ema.half_life_images is reached: "
        "set that as well, and ema.ramp_up to 0");
  }
}

void CheckHeartbeats(const ControlConfig& control, Faults& faults) {
  if (control.heartbeat_timeout_seconds() < 2 * control.heartbeat_seconds()) {
    faults.Add(absl::StrCat("control.heartbeat_timeout_seconds ",
                            control.heartbeat_timeout_seconds(),
                            " is less than two heartbeats of ",
                            control.heartbeat_seconds(), " s"));
  }
}

int64_t BytesOf(ExchangeConfig::Encoding encoding) {
  switch (encoding) {
    case ExchangeConfig::FLOAT32:
      return 4;
    case ExchangeConfig::BFLOAT16:
      return 2;
    case ExchangeConfig::UINT8:
      return 1;
    case ExchangeConfig::FLOAT64:
      return 8;
  }
  return 8;
}

bool HasLegalStep(const RoleConfig& role) {
  const FieldRange images = RangeOf<RoleConfig>("batch_size");
  return images.Has(role.batch_size()) && images.Has(StepBatch(role)) &&
         role.sync().interval() >= 1;
}

// Returns whether the factors of CheckSizes are in their ranges.
bool HasLegalSizes(const RunConfig& config) {
  return RangeOf<DataConfig>("image_size").Has(config.data().image_size()) &&
         RangeOf<ScheduleConfig>("lag").Has(config.schedule().lag()) &&
         RangeOf<ScheduleConfig>("discriminator_steps_per_round")
             .Has(config.schedule().discriminator_steps_per_round()) &&
         HasLegalStep(config.generator()) &&
         HasLegalStep(config.discriminator());
}

void CheckReuse(const ScheduleConfig& schedule, const RoleConfig& generator,
                const RoleConfig& discriminator, Faults& faults) {
  const int64_t steps = schedule.discriminator_steps_per_round();
  if (schedule.image_source() != ScheduleConfig::REUSED ||
      steps * StepBatch(discriminator) == StepBatch(generator)) {
    return;
  }
  if (StepBatch(generator) != generator.batch_size() ||
      StepBatch(discriminator) != discriminator.batch_size()) {
    faults.Add(absl::StrCat(
        "schedule.image_source REUSED needs as many images in the "
        "discriminator's steps of a round as in the generator's, but ",
        steps, " * ", StepBatch(discriminator), " != ", StepBatch(generator),
        " (batch_size times sync.interval): set sync.interval of both roles "
        "alike, or schedule.image_source=FRESH"));
    return;
  }
  const int64_t batch_d = discriminator.batch_size();
  faults.Add(absl::StrCat(
      "schedule.image_source REUSED needs discriminator_steps_per_round * "
      "discriminator.batch_size == generator.batch_size, but ",
      steps, " * ", batch_d, " != ", generator.batch_size(),
      ": set generator.batch_size=", steps * batch_d,
      ", or schedule.image_source=FRESH"));
}

void CheckCache(const RunConfig& config, int64_t image_bytes, Faults& faults) {
  const ExchangeConfig& exchange = config.exchange();
  const int64_t rounds = std::max<int64_t>(1, config.schedule().lag());
  if (exchange.cache_rounds() > 0 && exchange.cache_rounds() < rounds) {
    faults.Add(
        absl::StrCat("exchange.cache_rounds ", exchange.cache_rounds(),
                     " is neither 0 nor at least max(1, lag) = ", rounds));
  }
  const int64_t least = rounds *
                        config.schedule().discriminator_steps_per_round() *
                        StepBatch(config.discriminator()) * image_bytes;
  if (exchange.cache_bytes() < least) {
    faults.Add(absl::StrCat("exchange.cache_bytes ", exchange.cache_bytes(),
                            " does not hold max(1, lag) = ", rounds,
                            " rounds of generated images, which have ", least,
                            " bytes"));
  }
}

void CheckSizes(const RunConfig& config, Faults& faults) {
  if (!HasLegalSizes(config)) return;
  CheckReuse(config.schedule(), config.generator(), config.discriminator(),
             faults);
  const int64_t values = DataShapeOf(config.data()).image.NumValues();
  const int64_t image_bytes =
      values * BytesOf(config.exchange().image_encoding());
  CheckCache(config, image_bytes, faults);
  const int64_t largest_bytes = std::max(
      image_bytes, AnswersImages(config.schedule().feedback())
                       ? values * BytesOf(config.exchange().feedback_encoding())
                       : 0);
  const bool is_fresh =
      config.schedule().image_source() == ScheduleConfig::FRESH;
  const int64_t batch =
      std::max<int64_t>(config.generator().batch_size(),
                        is_fresh ? config.discriminator().batch_size() : 0);
  const int64_t micro_batch = config.generator().micro_batch();
  const int64_t images = micro_batch > 0 ? std::min(micro_batch, batch) : batch;
  const int64_t message = images * largest_bytes + kHeaderRoom;
  if (config.exchange().max_message_bytes() < message) {
    faults.Add(absl::StrCat("exchange.max_message_bytes ",
                            config.exchange().max_message_bytes(),
                            " does not hold a micro-batch of the generator, ",
                            message, " bytes with its header"));
  }
}

}  // namespace

Faults FaultsOf(const RunConfig& config) {
  Faults faults("config");
  if (config.name().empty() || config.name().size() > 128) {
    faults.Add("name is not 1 to 128 bytes long");
  }
  CheckNoControlCharacters("name", config.name(), faults);
  if (!config.has_rounds()) {
    faults.Add("rounds is missing: how many rounds to train");
  }
  CheckRanges("", config, faults);
  CheckData(config.data(), faults);
  CheckConsistency(config.schedule(), faults);
  CheckSizes(config, faults);
  CheckPrecision(config, faults);
  CheckRole("generator", config.generator(), config.data(), config.rounds(),
            faults);
  CheckRole("discriminator", config.discriminator(), config.data(),
            config.rounds(), faults);
  CheckOptimism(config, faults);
  CheckTranslation(config, faults);
  CheckPythonTranslation(config, faults);
  CheckLosses(config, faults);
  CheckFused(config, faults);
  CheckFleets(config, faults);
  CheckEma(config.ema(), faults);
  CheckHeartbeats(config.control(), faults);
  CheckNoiseScale(config, faults);
  return faults;
}

absl::Status ValidateRunConfig(const RunConfig& config) {
  return FaultsOf(config).ToStatus();
}

}  // namespace gandem
