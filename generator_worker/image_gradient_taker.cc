// SPDX-License-Identifier: Apache-2.0
//
// IMAGE_GRADIENT and FUSED feedback: takes answers by micro-batch.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "generator_worker/feedback_taker.h"

namespace gandem {
namespace {

class ImageGradientTaker : public FeedbackTaker {
 public:
  using FeedbackTaker::FeedbackTaker;

  absl::Status Take(const GeneratorOp& op, int64_t round,
                    absl::Time deadline) override {
    GANDEM_ASSIGN_OR_RETURN(
        const FeedbackBatch answer,
        parts_.timer->Timed(
            RoundTimer::kFeedback, {WorkerPosition::FEEDBACK, DISCRIMINATOR},
            [this] { return parts_.exchange->waits_for(); },
            [&] {
              return parts_.exchange->TakeFeedback(round, op.range.first,
                                                   deadline);
            }));
    GANDEM_FAILPOINT("generator.after_take_feedback");
    if (answer.count != op.range.count ||
        (parts_.plan.schedule().IsExact() &&
         answer.critic_version != op.critic_version)) {
      return absl::InternalError(
          absl::StrCat("feedback for ", answer.count, " images from critic ",
                       answer.critic_version, ", the schedule wants ",
                       op.range.count, " from critic ", op.critic_version));
    }
    critic_version_ = answer.critic_version;
    judgment_ = {.gradient_NCHW = UnpackImages(answer.gradient, answer.count,
                                               answer.format, parts_.compute),
                 .loss = DeviceSum(answer.loss)};
    return absl::OkStatus();
  }

  Judgment Judge(const JudgedImages&) override {
    return std::exchange(judgment_, {});
  }

 private:
  Judgment judgment_;
};

}  // namespace

std::unique_ptr<FeedbackTaker> MakeImageGradientTaker(
    FeedbackTaker::Parts parts) {
  return std::make_unique<ImageGradientTaker>(std::move(parts));
}

}  // namespace gandem
