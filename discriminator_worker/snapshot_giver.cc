// SPDX-License-Identifier: Apache-2.0
//
// SNAPSHOT feedback: publishes critics.
#include <algorithm>
#include <deque>

#include "common/process/failpoint.h"
#include "common/status.h"
#include "discriminator_worker/feedback_giver.h"

namespace gandem {
namespace {

class SnapshotGiver : public FeedbackGiver {
 public:
  using FeedbackGiver::FeedbackGiver;

 private:
  void BeginBoundary() override {
    const int64_t first_round = parts_.place.first_round;
    to_publish_.clear();
    // A generator that starts at first_round may need older critics first.
    if (boundary() == first_round) {
      for (const auto& [boundary, critic] : older_critics()) {
        to_publish_.push_back(critic);
      }
    }
    const int64_t judged = schedule().LastRoundJudgedBy(boundary());
    if (judged >= first_round &&
        judged <= std::max(parts_.gate->last_round(), schedule().lag - 1)) {
      to_publish_.push_back(Present());
    }
  }

  absl::Status GiveAllDue(absl::Time deadline) override {
    while (!to_publish_.empty()) {
      GANDEM_FAILPOINT("discriminator.before_publish");
      GANDEM_RETURN_IF_ERROR(parts_.timer->Timed(
          RoundTimer::kFeedback, {WorkerPosition::RECEIPT, GENERATOR},
          [this] { return parts_.exchange->waits_for(); },
          [&] {
            return parts_.exchange->PublishCritic(to_publish_.front(),
                                                  deadline);
          }));
      to_publish_.pop_front();
    }
    return absl::OkStatus();
  }

  absl::Status GiveNewest() override {
    if (published_version_ == version()) return absl::OkStatus();
    const absl::Status published =
        parts_.exchange->PublishCritic(Present(), absl::InfinitePast());
    if (absl::IsDeadlineExceeded(published)) return absl::OkStatus();
    if (published.ok()) published_version_ = version();
    return published;
  }

  std::deque<CriticState> to_publish_;
  int64_t published_version_ = -1;
};

}  // namespace

std::unique_ptr<FeedbackGiver> MakeSnapshotGiver(FeedbackGiver::Parts parts) {
  return std::make_unique<SnapshotGiver>(std::move(parts));
}

}  // namespace gandem
