// SPDX-License-Identifier: Apache-2.0
//
// FUSED feedback: answers images from their training pass. An answer is sent as
// soon as all images of its request were trained on, because requests follow
// the generators' micro-batches and passes the discriminator's.
#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "discriminator_worker/feedback_giver.h"
#include "models/torch.h"

namespace gandem {
namespace {

class FusedGiver : public FeedbackGiver {
 public:
  using FeedbackGiver::FeedbackGiver;

  bool WantsImageGradients() const override { return true; }

  absl::Status GiveInTraining(const TrainedImages& trained,
                              absl::FunctionRef<void()> backward) override {
    const ObjectiveOptions& objective = parts_.plan.objective;
    const int64_t batch = schedule().generator_batch;
    if (trained.pass.root_slopes_N.defined()) {
      backward();
      Add(trained, JudgeAfterBackward(trained.pass, objective, batch));
      return AnswerAvailable(trained.round);
    }
    {
      const TraceSpan span("judge",
                           {"images", trained.pass.images_NCHW.size(0)});
      Add(trained,
          JudgeTrained(trained.pass, objective, batch, parts_.compute));
    }
    // Answers before the backward pass, so that a waiting generator continues.
    GANDEM_RETURN_IF_ERROR(AnswerAvailable(trained.round));
    backward();
    return absl::OkStatus();
  }

 private:
  // Answers the rest of the finished round. Nothing else is due before the
  // training passes of this boundary's version.
  absl::Status GiveAllDue(absl::Time deadline) override {
    while (num_unanswered_ > 0) {
      GANDEM_ASSIGN_OR_RETURN(
          const ImageBatch request,
          parts_.timer->Timed(
              RoundTimer::kFeedback, {WorkerPosition::IMAGES, GENERATOR},
              [this] { return parts_.exchange->waits_for(); },
              [&] {
                return parts_.exchange->NextFeedbackRequest(boundary() - 1,
                                                            deadline);
              }));
      requests_.push_back(request);
      GANDEM_RETURN_IF_ERROR(AnswerTrained(boundary() - 1));
    }
    return absl::OkStatus();
  }

  // Unreachable: FUSED requires EXACT.
  absl::Status GiveNewest() override {
    return absl::InternalError("FUSED feedback in a run that is not EXACT");
  }

  void Add(const TrainedImages& trained, TrainedJudgment judgment) {
    num_unanswered_ += judgment.gradient_NCHW.size(0);
    judged_[trained.first_index] = std::move(judgment);
  }

  // Requests come with the images, so requests for trained images have arrived.
  absl::Status AnswerAvailable(int64_t round) {
    while (true) {
      absl::StatusOr<ImageBatch> request =
          parts_.exchange->NextFeedbackRequest(round, absl::InfinitePast());
      if (absl::IsDeadlineExceeded(request.status())) break;
      GANDEM_RETURN_IF_ERROR(request.status());
      requests_.push_back(*std::move(request));
    }
    return AnswerTrained(round);
  }

  absl::Status AnswerTrained(int64_t round) {
    for (auto request = requests_.begin(); request != requests_.end();) {
      if (request->round != round) {
        return absl::InternalError(absl::StrCat(
            "images of round ", request->round,
            " ask for feedback while those of round ", round, " train"));
      }
      GANDEM_ASSIGN_OR_RETURN(const bool answered, Answer(*request));
      request = answered ? requests_.erase(request) : request + 1;
    }
    if (num_unanswered_ == 0) judged_.clear();
    return absl::OkStatus();
  }

  // Returns false if some images of the request were not trained on yet.
  absl::StatusOr<bool> Answer(const ImageBatch& request) {
    std::vector<at::Tensor> gradients;
    double loss = 0;
    int64_t next = request.first_index;
    while (next < request.range().end()) {
      auto piece = judged_.upper_bound(next);
      if (piece == judged_.begin()) return false;
      const auto& [first, judgment] = *--piece;
      const int64_t begin = next - first;
      const int64_t end = std::min<int64_t>(request.range().end() - first,
                                            judgment.gradient_NCHW.size(0));
      if (begin >= end) return false;
      gradients.push_back(judgment.gradient_NCHW.narrow(0, begin, end - begin));
      for (int64_t i = begin; i < end; ++i) loss += judgment.losses[i];
      next = first + end;
    }
    GANDEM_FAILPOINT("discriminator.before_answer");
    const TensorFormat& format = parts_.plan.exchange.feedback_format;
    const at::Tensor gradient_NCHW =
        gradients.size() == 1 ? gradients.front() : at::cat(gradients);
    GANDEM_RETURN_IF_ERROR(parts_.exchange->AnswerFeedback(
        {.round = request.round,
         .first_index = request.first_index,
         .count = request.count,
         .critic_version =
             schedule().CriticVersion(request.round, request.first_index),
         .loss = loss,
         .format = format,
         .gradient = PackImages(gradient_NCHW, format)}));
    num_unanswered_ -= request.count;
    return true;
  }

  std::map<int64_t, TrainedJudgment> judged_;  // by first index
  // Images in judged_ without an answer.
  int64_t num_unanswered_ = 0;
  std::vector<ImageBatch> requests_;  // taken from the exchange, not answered
};

}  // namespace

std::unique_ptr<FeedbackGiver> MakeFusedGiver(FeedbackGiver::Parts parts) {
  return std::make_unique<FusedGiver>(std::move(parts));
}

}  // namespace gandem
