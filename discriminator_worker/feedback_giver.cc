// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/feedback_giver.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/trace/trace.h"

namespace gandem {

FeedbackGiver::FeedbackGiver(Parts parts) : parts_(std::move(parts)) {}

absl::Status FeedbackGiver::Restore(const TensorReader& state) {
  older_.clear();
  for (const NamedTensor& critic : state.WithPrefix("critic.")) {
    int64_t boundary = 0;
    if (!absl::SimpleAtoi(critic.name, &boundary) || boundary >= boundary_) {
      return absl::InvalidArgumentError(
          absl::StrCat("critic.", critic.name, " is not an older critic"));
    }
    older_[boundary] = {
        .version = boundary * schedule().discriminator_steps_per_round,
        .bytes = critic.bytes};
  }
  if (exact()) {
    for (int64_t b = schedule().CriticBoundary(boundary_); b < boundary_; ++b) {
      if (!older_.contains(b)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the checkpoint lacks the critic of round ", b,
                         "; was it written with a smaller schedule.lag?"));
      }
    }
  }
  EnterBoundary(boundary_);
  return absl::OkStatus();
}

void FeedbackGiver::SaveOlderCritics(StateShard& state) const {
  for (const auto& [boundary, critic] : older_) {
    if (boundary == boundary_) continue;  // the model itself
    state.Add(NamedTensor{.name = absl::StrCat("critic.", boundary),
                          .dtype = DType::kU8,
                          .shape = {static_cast<int64_t>(critic.bytes.size())},
                          .bytes = critic.bytes});
  }
}

void FeedbackGiver::EnterBoundary(int64_t rounds) {
  boundary_ = rounds;
  version_ = rounds * schedule().discriminator_steps_per_round;
  present_.reset();
  if (!exact()) return;
  BeginBoundary();
  if (schedule().lag >= 2) older_[boundary_] = Present();
  // A generator restored after boundary_ rounds needs no older critics.
  older_.erase(older_.begin(),
               older_.lower_bound(schedule().CriticBoundary(boundary_)));
}

absl::Status FeedbackGiver::GiveDue(absl::Time deadline) {
  return exact() ? GiveAllDue(deadline) : GiveNewest();
}

absl::Status FeedbackGiver::Offer(int64_t steps) {
  if (exact()) return absl::OkStatus();
  version_ = steps;
  return GiveNewest();
}

absl::Status FeedbackGiver::GiveInTraining(const TrainedImages&,
                                           absl::FunctionRef<void()> backward) {
  backward();
  return absl::OkStatus();
}

int64_t FeedbackGiver::last_round_due() const {
  // No round after the last one is due, and at lag 0 none before the first.
  return std::min(schedule().LastRoundJudgedBy(boundary_),
                  parts_.gate->last_round());
}

const CriticState& FeedbackGiver::Present() {
  if (!present_.has_value() || present_->version != version_) {
    const TraceSpan span("copy critic", {"version", version_});
    present_ = {.version = version_, .bytes = PackModule(*parts_.network)};
  }
  return *present_;
}

}  // namespace gandem
