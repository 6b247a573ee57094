// SPDX-License-Identifier: Apache-2.0
#include "exchange/exchange_options.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/config/field_ranges.h"
#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// Of rounds and run epochs: more than any run comes to.
constexpr int64_t kMaxCount = int64_t{1} << 40;
constexpr int64_t kMaxSide = int64_t{1} << 14;
// Room for the protobuf header of a message; real ones take about 100 bytes.
constexpr int64_t kHeaderAllowance = 1024;

void CheckFormat(Faults& faults, absl::string_view name,
                 const TensorFormat& format) {
  faults.CheckRange(absl::StrCat(name, ".channels"), format.channels, 1,
                    kMaxSide);
  faults.CheckRange(absl::StrCat(name, ".height"), format.height, 1, kMaxSide);
  faults.CheckRange(absl::StrCat(name, ".width"), format.width, 1, kMaxSide);
}

void CheckSchedule(Faults& faults, const Schedule& schedule) {
  CheckWithin(RangeOf<ScheduleConfig>("lag"), "lag", schedule.lag, faults);
  CheckWithin(RangeOf<ScheduleConfig>("discriminator_steps_per_round"),
              "discriminator_steps_per_round",
              schedule.discriminator_steps_per_round, faults);
  const FieldRange images = RangeOf<RoleConfig>("batch_size");
  CheckWithin(images, "generator_batch", schedule.generator_batch, faults);
  CheckWithin(images, "discriminator_batch", schedule.discriminator_batch,
              faults);
  const auto check_batches = [&](absl::string_view name, int64_t batches,
                                 int64_t images) {
    if (faults.CheckRange(name, batches, 1, std::max<int64_t>(1, images)) &&
        images % batches != 0) {
      faults.Add(absl::StrCat(name, " ", batches, " does not divide ", images));
    }
  };
  check_batches("generator_batches", schedule.generator_batches,
                schedule.generator_batch);
  check_batches("discriminator_batches", schedule.discriminator_batches,
                schedule.discriminator_batch);
  const FieldRange micro_batch = RangeOf<RoleConfig>("micro_batch");
  CheckWithin(micro_batch, "generator_micro_batch",
              schedule.generator_micro_batch, faults);
  CheckWithin(micro_batch, "discriminator_micro_batch",
              schedule.discriminator_micro_batch, faults);
  if (schedule.image_source == ImageSource::kReused &&
      schedule.TrainImagesPerRound() != schedule.generator_batch) {
    faults.Add(absl::StrCat(
        "REUSED images need discriminator_steps_per_round * "
        "discriminator_batch == generator_batch, but ",
        schedule.discriminator_steps_per_round, " * ",
        schedule.discriminator_batch, " != ", schedule.generator_batch));
  }
  if (schedule.JudgesInTraining() &&
      (schedule.lag != 1 || !schedule.IsExact() ||
       schedule.image_source != ImageSource::kReused)) {
    faults.Add("feedback FUSED needs lag 1, EXACT and REUSED");
  }
}

// Images in the largest message that a generator sends.
int64_t LargestPiece(const Schedule& schedule) {
  int64_t piece = schedule.generator_batch / schedule.generator_batches;
  if (schedule.image_source == ImageSource::kFresh) {
    piece = std::max(
        piece, schedule.discriminator_batch / schedule.discriminator_batches);
  }
  const int64_t micro_batch = schedule.generator_micro_batch;
  return micro_batch > 0 ? std::min(piece, micro_batch) : piece;
}

void CheckBudgets(Faults& faults, const ExchangeOptions& options) {
  const Schedule& schedule = options.schedule;
  const int64_t needed_rounds = std::max<int64_t>(1, schedule.lag);
  if (options.cache_rounds != 0) {
    const double most = RangeOf<ExchangeConfig>("cache_rounds").high;
    faults.CheckRange("cache_rounds", options.cache_rounds, needed_rounds,
                      static_cast<int64_t>(most));
  }
  // Divisions, because the products could overflow.
  const int64_t image_bytes = options.image_format.BytesPerImage();
  const int64_t needed_images = needed_rounds * schedule.TrainImagesPerRound();
  if (options.cache_bytes / image_bytes < needed_images) {
    faults.Add(absl::StrCat("cache_bytes ", options.cache_bytes,
                            " does not hold the ", needed_images, " images of ",
                            image_bytes, " bytes that lag ", schedule.lag,
                            " needs"));
  }
  const int64_t largest_bytes =
      std::max(image_bytes, options.feedback_format.BytesPerImage());
  if ((options.max_message_bytes - kHeaderAllowance) / largest_bytes <
      LargestPiece(schedule)) {
    faults.Add(absl::StrCat("max_message_bytes ", options.max_message_bytes,
                            " does not hold one micro-batch of ",
                            LargestPiece(schedule), " images of ",
                            largest_bytes, " bytes"));
  }
}

// What is wrong with a batch, or empty.
std::string FormatFault(const TensorFormat& got, const TensorFormat& wanted,
                        int64_t count, size_t bytes) {
  if (got.encoding != wanted.encoding) return "another encoding than the run's";
  if (got.layout != wanted.layout) {
    return "another memory layout than the run's";
  }
  if (got != wanted) {
    return absl::StrCat("shape ", got.channels, "x", got.height, "x", got.width,
                        " instead of ", wanted.channels, "x", wanted.height,
                        "x", wanted.width);
  }
  if (static_cast<int64_t>(bytes) != count * wanted.BytesPerImage()) {
    return absl::StrCat(bytes, " bytes instead of ",
                        count * wanted.BytesPerImage());
  }
  return "";
}

std::string RangeFault(int64_t round, int64_t first, int64_t count,
                       int64_t size) {
  if (round < 0 || round > kMaxCount) return "no such round";
  // In this order nothing overflows.
  if (first < 0 || count < 1 || count > size || first > size - count) {
    return absl::StrCat("index range is not within [0, ", size, ")");
  }
  return "";
}

std::string UseFault(const Schedule& schedule, ImageUse use) {
  const bool reused = schedule.image_source == ImageSource::kReused;
  if (!schedule.AnswersImages()) {
    return use == ImageUse::kTrain ? "" : "SNAPSHOT answers no images";
  }
  if (reused == (use == ImageUse::kBoth)) return "";
  return reused ? "REUSED images are for both uses"
                : "FRESH images have one use each";
}

// OK if `fault` is empty.
template <typename Batch>
absl::Status BatchStatus(absl::string_view what, const Batch& batch,
                         absl::string_view fault) {
  if (fault.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " of round ", batch.round, ", first ",
                   batch.first_index, ", count ", batch.count, ": ", fault));
}

}  // namespace

int64_t ExchangeOptions::CacheImages() const {
  const int64_t rounds = cache_rounds > 0 ? cache_rounds : schedule.lag + 1;
  return std::min(rounds * schedule.TrainImagesPerRound(),
                  cache_bytes / image_format.BytesPerImage());
}

absl::Status CheckExchangeOptions(const ExchangeOptions& options) {
  Faults faults("exchange");
  CheckSchedule(faults, options.schedule);
  CheckFormat(faults, "image_format", options.image_format);
  if (options.schedule.AnswersImages()) {
    CheckFormat(faults, "feedback_format", options.feedback_format);
    if (options.feedback_format.encoding == Encoding::kUint8) {
      faults.Add("feedback_format.encoding UINT8 cannot carry gradients");
    }
  }
  CheckWithin(RangeOf<ScheduleConfig>("max_samples_per_image"),
              "max_samples_per_image", options.max_samples_per_image, faults);
  faults.CheckRange("first_round", options.first_round, 0, kMaxCount);
  CheckWithin(RangeOf<ExchangeConfig>("max_message_bytes"), "max_message_bytes",
              options.max_message_bytes, faults);
  faults.CheckRange("run_epoch", options.run_epoch, 0, kMaxCount);
  faults.CheckRange("incarnation", options.incarnation, 0,
                    std::numeric_limits<int64_t>::max());
  faults.CheckRange("num_generators", options.num_generators, 1, 1 << 16);
  faults.CheckRange("num_discriminators", options.num_discriminators, 1,
                    1 << 16);
  faults.CheckRange("discriminator_skew", options.discriminator_skew, 0,
                    1 << 20);
  faults.CheckRange("rank", options.rank, 0, 1 << 16);
  // What follows divides by sizes.
  if (faults.empty()) CheckBudgets(faults, options);
  return faults.ToStatus();
}

absl::Status CheckGeneratorRank(const ExchangeOptions& options, int rank) {
  if (rank >= 0 && rank < options.num_generators) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("generator rank ", rank, " is not in [0, ",
                   options.num_generators - 1, "]"));
}

absl::Status CheckImageBatch(const ExchangeOptions& options,
                             const ImageBatch& batch) {
  const Schedule& schedule = options.schedule;
  std::string fault = UseFault(schedule, batch.use);
  if (fault.empty()) {
    const int64_t size = batch.use == ImageUse::kTrain
                             ? schedule.TrainImagesPerRound()
                             : schedule.generator_batch;
    fault = RangeFault(batch.round, batch.first_index, batch.count, size);
  }
  if (fault.empty() && batch.generator_version != batch.round) {
    fault = absl::StrCat("made by generator version ", batch.generator_version,
                         " instead of ", batch.round);
  }
  if (fault.empty()) {
    fault = FormatFault(batch.format, options.image_format, batch.count,
                        batch.pixels.size());
  }
  return BatchStatus("images", batch, fault);
}

absl::Status CheckFeedbackBatch(const ExchangeOptions& options,
                                const FeedbackBatch& batch) {
  std::string fault = RangeFault(batch.round, batch.first_index, batch.count,
                                 options.schedule.generator_batch);
  const int64_t version =
      options.schedule.CriticVersion(batch.round, batch.first_index);
  const bool exact = options.schedule.IsExact();
  if (fault.empty() && (batch.critic_version < version ||
                        (exact && batch.critic_version != version))) {
    fault = absl::StrCat("judged by critic version ", batch.critic_version,
                         " instead of ", version, exact ? "" : " or newer");
  }
  if (fault.empty()) {
    fault = FormatFault(batch.format, options.feedback_format, batch.count,
                        batch.gradient.size());
  }
  return BatchStatus("feedback", batch, fault);
}

}  // namespace gandem
