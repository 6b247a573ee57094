// SPDX-License-Identifier: Apache-2.0
#include "exchange/exchange_options.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

// Chosen above the number of rounds of any run.
constexpr int64_t kMaxRound = int64_t{1} << 40;

// Returns the fault of a batch, or an empty string.
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
  if (round < 0 || round > kMaxRound) return "no such round";
  // The order of these comparisons prevents overflow.
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
