// SPDX-License-Identifier: Apache-2.0
#include "training/roles/round_gate.h"

#include <algorithm>

#include "common/check.h"
#include "common/monotonic_time.h"

namespace gandem {

RoundGate::Answer RoundGate::Start(int64_t round, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  // Another role of this process may have begun the round.
  if (round <= started_) return Answer::kStart;
  if (!AwaitUntil(&mu_,
                  absl::Condition(
                      +[](RoundGate* gate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                        return gate->MayAnswer();
                      },
                      this),
                  deadline)) {
    return Answer::kHold;
  }
  if (round > last_round_) return Answer::kPastEnd;
  started_ = round;
  return Answer::kStart;
}

int64_t RoundGate::Pause() {
  absl::MutexLock lock(&mu_);
  paused_ = true;
  return started_;
}

void RoundGate::SetCut(int64_t cut) {
  absl::MutexLock lock(&mu_);
  GANDEM_CHECK(cut >= started_);
  has_cut_ = true;
  last_round_ = std::min(last_round_, cut);
}

bool RoundGate::paused() const {
  absl::MutexLock lock(&mu_);
  return paused_;
}

bool RoundGate::has_cut() const {
  absl::MutexLock lock(&mu_);
  return has_cut_;
}

int64_t RoundGate::last_round() const {
  absl::MutexLock lock(&mu_);
  return last_round_;
}

bool RoundGate::MayEndAfter(int64_t completed_rounds) const {
  absl::MutexLock lock(&mu_);
  return completed_rounds > last_round_ || (paused_ && !has_cut_);
}

int64_t RoundGate::started() const {
  absl::MutexLock lock(&mu_);
  return started_;
}

}  // namespace gandem
