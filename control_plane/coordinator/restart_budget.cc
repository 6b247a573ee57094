// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/restart_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

constexpr absl::Duration kSecondWait = absl::Seconds(1);
constexpr int kMaxDoublings = 30;
// Time of new rounds that gives one restart back to the budget.
constexpr absl::Duration kTimePerRestart = absl::Hours(1);

}  // namespace

absl::Duration RestartBudget::Wait(int in_a_row) const {
  if (in_a_row <= 1) return absl::ZeroDuration();
  const int doublings = std::min(in_a_row - 2, kMaxDoublings);
  return std::min(kSecondWait * (int64_t{1} << doublings),
                  options_.longest_wait);
}

bool RestartBudget::Spend(WorkerKey key, absl::Time now) {
  ++total_;
  // On a second death in the same tick, the worker was restarted meanwhile.
  if (!in_tick_.insert(key).second) in_tick_ = {key};
  if (in_tick_.size() == 1) ++spent_;
  ++without_progress_;
  counted_until_.reset();  // the run makes no progress
  Deaths& deaths = deaths_[key];
  deaths.start_at = now + Wait(++deaths.in_a_row);
  deaths.rounds = completed_;
  return spent_ <= options_.restarts;
}

void RestartBudget::NoteRounds(WorkerKey key, int64_t first_round,
                               int64_t completed, absl::Time now) {
  const auto deaths = deaths_.find(key);
  if (deaths != deaths_.end() &&
      completed > std::max(first_round, deaths->second.rounds)) {
    deaths_.erase(deaths);
  }
  if (completed <= std::max(first_round, completed_)) return;
  completed_ = completed;
  without_progress_ = 0;
  if (counted_until_.has_value()) {
    // Limits the credit if the machine was asleep.
    worked_ += std::min(now - *counted_until_, kTimePerRestart);
  }
  counted_until_ = now;
  if (spent_ == 0) {
    worked_ = absl::ZeroDuration();
  } else if (worked_ >= kTimePerRestart) {
    worked_ -= kTimePerRestart;
    --spent_;
  }
}

absl::Time RestartBudget::StartAt(WorkerKey key) const {
  const auto deaths = deaths_.find(key);
  return deaths == deaths_.end() ? absl::InfinitePast()
                                 : deaths->second.start_at;
}

std::string RestartBudget::UsedUpText() const {
  const std::string text =
      absl::StrCat("the budget of ", options_.restarts,
                   " restarts is used up (control.restart_budget; an hour of "
                   "new rounds gives one back)");
  if (without_progress_ <= 1) return text;
  return absl::StrCat(text, ", and the last ", without_progress_,
                      " deaths came without a new round between them");
}

}  // namespace gandem
