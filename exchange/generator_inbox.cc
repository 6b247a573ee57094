// SPDX-License-Identifier: Apache-2.0
#include "exchange/generator_inbox.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/process/failpoint.h"
#include "common/status.h"

namespace gandem {

GeneratorInbox::GeneratorInbox(const ExchangeOptions& options)
    : options_(options), critics_(options.schedule) {}

void GeneratorInbox::ExpectFeedback(const ImageBatch& batch) {
  absl::MutexLock lock(&mu_);
  const Key key = {batch.round, batch.first_index};
  if (key > last_taken_) expected_.try_emplace(key, Expected{batch.count, {}});
}

absl::Status GeneratorInbox::AddFeedback(FeedbackBatch feedback) {
  GANDEM_RETURN_IF_ERROR(CheckFeedbackBatch(options_, feedback));
  absl::MutexLock lock(&mu_);
  const Key key = {feedback.round, feedback.first_index};
  const auto it = expected_.find(key);
  if (it == expected_.end()) {
    if (key <= last_taken_) return absl::OkStatus();  // a repeat
    return absl::InvalidArgumentError(
        absl::StrCat("feedback on round ", feedback.round, ", first ",
                     feedback.first_index, " was not asked for"));
  }
  if (it->second.count != feedback.count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "feedback on round ", feedback.round, ", first ", feedback.first_index,
        " has ", feedback.count, " images instead of ", it->second.count));
  }
  if (!it->second.feedback.has_value()) {
    it->second.feedback = std::move(feedback);
    GANDEM_FAILPOINT("exchange.feedback_received");
  }
  return absl::OkStatus();
}

bool GeneratorInbox::OfferCritic(const CriticState& critic) {
  absl::MutexLock lock(&mu_);
  if (!critics_.Offer(critic)) return false;
  ++arrivals_;
  GANDEM_FAILPOINT("exchange.critic_received");
  return true;
}

absl::StatusOr<FeedbackBatch> GeneratorInbox::TakeFeedback(
    int64_t round, int64_t first_index, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto it = expected_.find({round, first_index});
  if (closed_.ok() && it == expected_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no images of round ", round, ", first ", first_index,
                     " are waiting for feedback"));
  }
  const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !closed_.ok() || it->second.feedback.has_value();
  };
  if (!AwaitUntil(&mu_, absl::Condition(&ready), deadline)) {
    return absl::DeadlineExceededError("waiting for feedback");
  }
  if (!closed_.ok()) return closed_;
  FeedbackBatch feedback = *std::move(it->second.feedback);
  last_taken_ = std::max(last_taken_, it->first);
  expected_.erase(it);
  return feedback;
}

absl::StatusOr<CriticState> GeneratorInbox::TakeCritic(
    int64_t version, absl::Time deadline, absl::FunctionRef<void()> has_room) {
  absl::StatusOr<CriticState> critic =
      AwaitCritic(version, absl::InfinitePast());
  has_room();
  if (!absl::IsDeadlineExceeded(critic.status())) return critic;
  return AwaitCritic(version, deadline);
}

absl::StatusOr<CriticState> GeneratorInbox::AwaitCritic(int64_t version,
                                                        absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  for (;;) {
    if (!closed_.ok()) return closed_;
    GANDEM_ASSIGN_OR_RETURN(const std::optional<CriticState> critic,
                            critics_.Take(version));
    if (critic.has_value()) return *critic;
    const int64_t seen = arrivals_;
    const auto changed = [this, seen]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return !closed_.ok() || arrivals_ != seen;
    };
    if (!AwaitUntil(&mu_, absl::Condition(&changed), deadline)) {
      return absl::DeadlineExceededError("waiting for a critic");
    }
  }
}

void GeneratorInbox::Drain() {
  absl::MutexLock lock(&mu_);
  critics_.Drain();
}

int64_t GeneratorInbox::newest_critic_version() const {
  absl::MutexLock lock(&mu_);
  return critics_.newest_version();
}

absl::Status GeneratorInbox::status() const {
  absl::MutexLock lock(&mu_);
  return closed_;
}

void GeneratorInbox::Close(absl::Status reason) {
  GANDEM_CHECK(!reason.ok());
  absl::MutexLock lock(&mu_);
  if (closed_.ok()) closed_ = std::move(reason);
}

}  // namespace gandem
