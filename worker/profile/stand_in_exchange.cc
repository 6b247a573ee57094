// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/stand_in_exchange.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "exchange/encoding.h"

namespace gandem {
namespace {

// Typical magnitudes of tanh images, and of gradients of a batch mean. Neither
// gives denormal numbers, which are slow.
constexpr float kImageSize = 0.9F;
constexpr float kGradientSize = 1e-3F;

// Makes `count` images with uniform values in [-size, size].
SharedBytes RandomImages(const TensorFormat& format, int64_t count,
                         float size) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-size, size);
  const int64_t values = count * format.channels * format.height * format.width;
  std::vector<std::byte> bytes(count * format.BytesPerImage());
  if (format.encoding == Encoding::kFloat64) {
    for (int64_t i = 0; i < values; ++i) {
      const double value = uniform(random);
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
    return SharedBytes(std::move(bytes));
  }
  std::vector<float> floats(values);
  for (float& value : floats) value = uniform(random);
  Encode(floats, format.encoding, bytes);
  return SharedBytes(std::move(bytes));
}

class DiscriminatorStandIn : public GeneratorExchange {
 public:
  DiscriminatorStandIn(const ExchangeOptions& options, SharedBytes critic)
      : options_(options),
        critic_(std::move(critic)),
        gradients_(options.schedule.AnswersImages()
                       ? RandomImages(options.feedback_format,
                                      options.schedule.generator_batch,
                                      kGradientSize)
                       : SharedBytes()) {}

  absl::Status PutImages(const ImageBatch& batch, absl::Time) override {
    GANDEM_RETURN_IF_ERROR(CheckImageBatch(options_, batch));
    if (IsAnswered(batch.use)) waiting_[batch.first_index] = batch.count;
    return absl::OkStatus();
  }

  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round, int64_t first_index,
                                             absl::Time) override {
    const auto asked = waiting_.find(first_index);
    if (asked == waiting_.end()) {
      return absl::InternalError(absl::StrCat("no images from ", first_index,
                                              " on were sent for feedback"));
    }
    const int64_t count = asked->second;
    waiting_.erase(asked);
    const TensorFormat& format = options_.feedback_format;
    const int64_t image_bytes = format.BytesPerImage();
    return FeedbackBatch{
        .round = round,
        .first_index = first_index,
        .count = count,
        .critic_version = options_.schedule.CriticVersion(round, first_index),
        .loss = 0.5,
        .format = format,
        .gradient =
            gradients_.Slice(first_index * image_bytes, count * image_bytes)};
  }

  absl::StatusOr<CriticState> TakeCritic(int64_t version, absl::Time) override {
    return CriticState{.version = version, .bytes = critic_};
  }

  absl::Status Finish(absl::Time) override { return absl::OkStatus(); }
  int64_t messages_damaged() const override { return 0; }
  void Close(absl::Status) override {}  // no call waits

 private:
  const ExchangeOptions options_;
  const SharedBytes critic_;
  const SharedBytes gradients_;         // of a whole batch
  std::map<int64_t, int64_t> waiting_;  // images sent, by first index
};

class GeneratorStandIn : public DiscriminatorExchange {
 public:
  explicit GeneratorStandIn(const ExchangeOptions& options)
      : options_(options),
        requests_(GeneratorPieces(options.schedule, /*rank=*/0, /*size=*/1)),
        images_(RandomImages(options.image_format,
                             std::max(options.schedule.TrainImagesPerRound(),
                                      options.schedule.generator_batch),
                             kImageSize)),
        finished_rounds_(options.first_round),
        asking_round_(options.first_round) {}

  absl::StatusOr<TakenImages> TakeImages(int64_t round, int64_t first,
                                         int64_t count, absl::Time) override {
    const Schedule& schedule = options_.schedule;
    const ImageUse use = schedule.image_source == ImageSource::kReused
                             ? schedule.StepImageUse()
                             : ImageUse::kTrain;
    TakenImages taken;
    taken.pieces.push_back(
        Images(use, round, {.first = first, .count = count}));
    return taken;
  }

  void FinishRound(int64_t round) override {
    finished_rounds_ = std::max(finished_rounds_, round + 1);
  }

  absl::StatusOr<ImageBatch> NextFeedbackRequest(int64_t last_round,
                                                 absl::Time) override {
    const Schedule& schedule = options_.schedule;
    if (!schedule.AnswersImages() ||
        asking_round_ > std::min(last_round, schedule.LastRoundJudgedBy(
                                                 finished_rounds_))) {
      return absl::DeadlineExceededError("no images wait for this version");
    }
    const ImageBatch batch =
        Images(schedule.StepImageUse(), asking_round_, requests_[next_]);
    if (++next_ == requests_.size()) {
      next_ = 0;
      ++asking_round_;
    }
    return batch;
  }

  absl::Status AnswerFeedback(FeedbackBatch answer) override {
    return CheckFeedbackBatch(options_, answer);
  }

  absl::Status PublishCritic(CriticState critic, absl::Time) override {
    critic_ = std::move(critic);
    return absl::OkStatus();
  }

  absl::StatusOr<WaitEnd> WaitForGenerators(absl::Time) override {
    return WaitEnd::kDone;
  }

  ExchangeStats stats() const override { return {}; }
  void Close(absl::Status) override {}  // no call waits

 private:
  ImageBatch Images(ImageUse use, int64_t round, IndexRange range) const {
    const int64_t image_bytes = options_.image_format.BytesPerImage();
    return {.use = use,
            .round = round,
            .first_index = range.first,
            .count = range.count,
            .generator_version = round,
            .format = options_.image_format,
            .pixels = images_.Slice(range.first * image_bytes,
                                    range.count * image_bytes)};
  }

  const ExchangeOptions options_;
  const std::vector<IndexRange> requests_;  // of a round
  const SharedBytes images_;                // used in all rounds
  int64_t finished_rounds_;
  int64_t asking_round_;
  size_t next_ = 0;
  CriticState critic_;  // a real exchange holds one, too
};

}  // namespace

std::unique_ptr<GeneratorExchange> StandInForDiscriminators(
    const ExchangeOptions& options, SharedBytes critic) {
  return std::make_unique<DiscriminatorStandIn>(options, std::move(critic));
}

std::unique_ptr<DiscriminatorExchange> StandInForGenerators(
    const ExchangeOptions& options) {
  return std::make_unique<GeneratorStandIn>(options);
}

}  // namespace gandem
