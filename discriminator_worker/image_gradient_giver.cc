// SPDX-License-Identifier: Apache-2.0
//
// IMAGE_GRADIENT feedback: judges and answers images for this version.
#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "discriminator_worker/feedback_giver.h"

namespace gandem {
namespace {

class ImageGradientGiver : public FeedbackGiver {
 public:
  explicit ImageGradientGiver(Parts parts)
      : FeedbackGiver(std::move(parts)),
        real_round_(parts_.place.first_round - 1) {}

 private:
  absl::Status GiveAllDue(absl::Time deadline) override {
    const int64_t judged =
        ImagesJudgedBy(schedule(), parts_.place.rank, num_workers());
    while (true) {
      // Queried each time, because a cut lowers the due round.
      const int64_t due_round = last_round_due();
      const int64_t rounds = due_round + 1 - parts_.place.first_round;
      if (answered_images_ >= rounds * judged) {
        return absl::OkStatus();
      }
      GANDEM_RETURN_IF_ERROR(AnswerNext(due_round, deadline));
    }
  }

  absl::Status GiveNewest() override {
    while (true) {
      const absl::Status answered =
          AnswerNext(parts_.gate->last_round(), absl::InfinitePast());
      if (absl::IsDeadlineExceeded(answered)) return absl::OkStatus();
      GANDEM_RETURN_IF_ERROR(answered);
    }
  }

  absl::Status AnswerNext(int64_t due_round, absl::Time deadline) {
    if (!request_.has_value()) {
      GANDEM_ASSIGN_OR_RETURN(
          request_,
          parts_.timer->Timed(
              RoundTimer::kFeedback, {WorkerPosition::IMAGES, GENERATOR},
              [this] { return parts_.exchange->waits_for(); },
              [&] {
                return parts_.exchange->NextFeedbackRequest(due_round,
                                                            deadline);
              }));
    }
    GANDEM_RETURN_IF_ERROR(TakeRealImages(request_->round, deadline));
    return Answer(*std::exchange(request_, std::nullopt));
  }

  absl::Status TakeRealImages(int64_t round, absl::Time deadline) {
    if (!parts_.real_images) return absl::OkStatus();
    while (real_round_ < round) {
      GANDEM_ASSIGN_OR_RETURN(
          real_,
          parts_.timer->Timed(RoundTimer::kData, {WorkerPosition::DATA}, [&] {
            return parts_.real_images(real_round_ + 1, deadline);
          }));
      ++real_round_;
    }
    if (real_round_ == round) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("images of round ", round,
                                            " are to be judged after those "
                                            "of round ",
                                            real_round_));
  }

  // Returns the critic of `round` and its version.
  absl::StatusOr<std::pair<Discriminator*, int64_t>> CriticOf(int64_t round) {
    if (!exact() || schedule().CriticVersion(round) == version()) {
      return std::pair(parts_.network.get(), version());
    }
    // After a restart, the generator repeats rounds that older versions judged.
    const auto older = older_critics().find(schedule().CriticBoundary(round));
    if (older == older_critics().end()) {
      return absl::InternalError(absl::StrCat("no critic for round ", round,
                                              " before round ", boundary()));
    }
    if (older_critic_.network == nullptr) {
      GANDEM_ASSIGN_OR_RETURN(older_critic_, parts_.new_critic());
    }
    GANDEM_RETURN_IF_ERROR(
        UnpackModule(older->second.bytes, *older_critic_.network));
    return std::pair(older_critic_.network.get(), older->second.version);
  }

  absl::Status Answer(const ImageBatch& images) {
    GANDEM_FAILPOINT("discriminator.before_answer");
    const TraceSpan span("judge", {"images", images.count});
    const Compute& compute = parts_.compute;
    GANDEM_ASSIGN_OR_RETURN(const auto critic, CriticOf(images.round));
    GANDEM_ASSIGN_OR_RETURN(Condition condition,
                            ConditionOf(parts_.condition, schedule(), images));
    JudgedImages judged = {
        .images_NCHW =
            UnpackImages(images.pixels, images.count, images.format, compute),
        .condition = std::move(condition),
        .round = images.round,
        .first_index = images.first_index};
    if (parts_.real_images) {
      // Losses with real images have a single batch (loss_validate.cc).
      const IndexRange slice = RankSlice(schedule().generator_batch,
                                         parts_.place.rank, num_workers());
      judged.real_NCHW = real_.images_NCHW.narrow(
          0, images.first_index - slice.first, images.count);
    }
    const Judgment judgment =
        JudgeImages(*critic.first, judged, parts_.plan.objective,
                    schedule().generator_batch, compute);
    answered_images_ += images.count;
    const TensorFormat& format = parts_.plan.exchange.feedback_format;
    return parts_.exchange->AnswerFeedback(
        {.round = images.round,
         .first_index = images.first_index,
         .count = images.count,
         .critic_version = critic.second,
         .loss = judgment.loss.Value(),
         .format = format,
         .gradient = PackImages(judgment.gradient_NCHW, format)});
  }

  int num_workers() const { return parts_.plan.discriminator.workers; }

  int64_t answered_images_ = 0;  // since first_round
  // Taken from the exchange, not answered: real images are not ready.
  std::optional<ImageBatch> request_;
  RealImages real_;     // of real_round_
  int64_t real_round_;  // the last round whose real images were taken
  Critic older_critic_;
};

}  // namespace

std::unique_ptr<FeedbackGiver> MakeImageGradientGiver(
    FeedbackGiver::Parts parts) {
  return std::make_unique<ImageGradientGiver>(std::move(parts));
}

}  // namespace gandem
