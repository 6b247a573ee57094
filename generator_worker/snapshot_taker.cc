// SPDX-License-Identifier: Apache-2.0
//
// SNAPSHOT feedback: takes a critic per round and judges the images itself.
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "generator_worker/feedback_taker.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

class SnapshotTaker : public FeedbackTaker {
 public:
  using FeedbackTaker::FeedbackTaker;

  absl::Status Take(const GeneratorOp& op, int64_t,
                    absl::Time deadline) override {
    GANDEM_ASSIGN_OR_RETURN(
        const CriticState taken,
        parts_.timer->Timed(
            RoundTimer::kFeedback, {WorkerPosition::WEIGHTS, DISCRIMINATOR},
            [this] { return parts_.exchange->waits_for(); },
            [&] {
              return parts_.exchange->TakeCritic(op.critic_version, deadline);
            }));
    GANDEM_FAILPOINT("generator.after_take_critic");
    critic_version_ = taken.version;
    if (critic_version_ == loaded_version_) return absl::OkStatus();
    const TraceSpan span("load critic", {"version", critic_version_});
    if (critic_.network == nullptr) {
      GANDEM_ASSIGN_OR_RETURN(critic_, parts_.new_critic());
    }
    GANDEM_RETURN_IF_ERROR(UnpackModule(taken.bytes, *critic_.network));
    loaded_version_ = critic_version_;
    return absl::OkStatus();
  }

  Judgment Judge(const JudgedImages& images) override {
    const TraceSpan span("judge", {"images", images.images_NCHW.size(0)});
    Judgment judgment =
        JudgeImages(*critic_.network, images, parts_.plan.objective,
                    parts_.plan.schedule().generator_batch, critic_.compute);
    judgment.gradient_NCHW = InLayout(judgment.gradient_NCHW, parts_.compute);
    return judgment;
  }

 private:
  Critic critic_;
  int64_t loaded_version_ = -1;
};

}  // namespace

std::unique_ptr<FeedbackTaker> MakeSnapshotTaker(FeedbackTaker::Parts parts) {
  return std::make_unique<SnapshotTaker>(std::move(parts));
}

}  // namespace gandem
