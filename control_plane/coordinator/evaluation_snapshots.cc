// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/evaluation_snapshots.h"

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

EvaluationSnapshots::EvaluationSnapshots(const std::string& run_dir,
                                         int64_t every, int64_t rounds)
    : run_dir_(run_dir),
      folder_(run_dir + "/evaluation/snapshots"),
      queue_(every, rounds) {
  const std::string folder = run_dir_ + "/evaluation";
  const auto names = ListDirectory(folder);
  if (!names.ok()) return;  // nothing was judged yet
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
