// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/evaluation_snapshots.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/status.h"

namespace gandem {

void EvaluationQueue::Know(int64_t step) {
  const auto [it, is_new] = first_of_multiple_.emplace(step / every_, step);
  if (!is_new) it->second = std::min(it->second, step);
}

std::set<int64_t> EvaluationQueue::Due(std::span<const int64_t> steps) const {
  std::map<int64_t, int64_t> first;  // multiple -> first step
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

EvaluationSnapshots::EvaluationSnapshots(const std::string& run_dir,
                                         int64_t every, int64_t rounds)
    : run_dir_(run_dir),
      folder_(run_dir + "/evaluation/snapshots"),
      queue_(every, rounds) {
  const std::string folder = run_dir_ + "/evaluation";
  const auto names = ListDirectory(folder);
  if (!names.ok()) return;  // nothing evaluated yet
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, ".textproto")) continue;
    const auto card = ReadMetricCard(folder + "/" + name);
    if (card.ok() && card->images().has_generator()) {
      queue_.Know(card->images().generator().step());
    }
  }
}

std::vector<int64_t> EvaluationSnapshots::ListKept() const {
  std::vector<int64_t> steps;
  const auto names = ListDirectory(folder_);
  if (!names.ok()) return steps;
  for (const std::string& name : *names) {
    int64_t step = 0;
    absl::string_view digits = name;
    if (absl::ConsumePrefix(&digits, "step-") &&
        absl::SimpleAtoi(digits, &step)) {
      steps.push_back(step);
    }
  }
  return steps;
}

absl::Status EvaluationSnapshots::KeepDue(std::optional<int64_t> committed) {
  std::vector<int64_t> steps;
  if (std::exchange(all_are_kept_, false) && committed.has_value()) {
    steps.push_back(*committed);
  } else {
    GANDEM_ASSIGN_OR_RETURN(steps, ListCheckpoints(run_dir_));
  }
  const std::vector<int64_t> kept = ListKept();
  steps.insert(steps.end(), kept.begin(), kept.end());
  for (const int64_t step : queue_.Due(steps)) {
    const absl::Status status =
        PathExists(PathOf(step))
            ? absl::OkStatus()
            : KeepCheckpoint(CheckpointPath(run_dir_, step), folder_).status();
    if (absl::IsNotFound(status)) continue;  // pruned meanwhile
    GANDEM_RETURN_IF_ERROR(status);
    queue_.Add(step);
  }
  all_are_kept_ = true;
  return absl::OkStatus();
}

absl::Status EvaluationSnapshots::RemoveStale() {
  for (const int64_t step : ListKept()) {
    if (queue_.IsWaiting(step) || queue_.Due({&step, 1}).contains(step)) {
      continue;
    }
    GANDEM_RETURN_IF_ERROR(Remove(step));
  }
  return absl::OkStatus();
}

std::string EvaluationSnapshots::PathOf(int64_t step) const {
  return absl::StrFormat("%s/step-%09d", folder_, step);
}

absl::Status EvaluationSnapshots::Remove(int64_t step) {
  return RemoveAll(PathOf(step));
}

}  // namespace gandem
