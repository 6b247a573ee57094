// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/evaluation_queue.h"

#include <algorithm>

namespace gandem {

void EvaluationQueue::Know(int64_t step) {
  const auto [it, is_new] = first_of_multiple_.emplace(step / every_, step);
  if (!is_new) it->second = std::min(it->second, step);
}

std::set<int64_t> EvaluationQueue::Due(std::span<const int64_t> steps) const {
  std::map<int64_t, int64_t> first;  // of the multiples of `steps`
  std::set<int64_t> due;
  for (const int64_t step : std::set<int64_t>(steps.begin(), steps.end())) {
    const auto known = first_of_multiple_.find(step / every_);
    const auto it = first.emplace(step / every_, step).first;
    if (known != first_of_multiple_.end()) {
      it->second = std::min(it->second, known->second);
    }
    const bool is_first = step >= every_ && step == it->second;
    if ((is_first || step == rounds_) && !waiting_.contains(step) &&
        !finished_.contains(step)) {
      due.insert(step);
    }
  }
  return due;
}

void EvaluationQueue::Add(int64_t step) {
  Know(step);
  waiting_.insert(step);
}

std::optional<int64_t> EvaluationQueue::Next() const {
  if (waiting_.empty()) return std::nullopt;
  return *waiting_.begin();
}

void EvaluationQueue::Finish(int64_t step) {
  waiting_.erase(step);
  finished_.insert(step);
}

bool EvaluationQueue::Retry(int64_t step) {
  if (++failures_[step] < kTries) return true;
  Finish(step);
  return false;
}

}  // namespace gandem
