// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/stopping.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gandem {

RunOutcome FinishedOutcome(int64_t rounds) {
  return {.state = StatusReply::FINISHED,
          .exit_code = kExitOk,
          .detail = absl::StrCat("all ", rounds, " rounds are done")};
}

RunOutcome ResumableOutcome(const std::string& why,
                            const CheckpointCommits& commits) {
  return {.state = StatusReply::STOPPED,
          .exit_code = kExitResumable,
          .detail = absl::StrCat(why, ". ", commits.NewestText())};
}

void Stopping::Request(const std::string& reason, bool begins, absl::Time now) {
  if (reason_.empty() || begins) deadline_ = now + options_.grace;
  reason_ = reason;
}

bool Stopping::DecideCut(const std::vector<Place>& places) {
  if (cut_.has_value()) return false;
  int64_t last_started = -1;
  for (const Place& place : places) {
    if (!place.is_member) continue;
    const HeartbeatRequest& progress = place.progress;
    if (!progress.paused() && !progress.finished()) return false;
    last_started = std::max(last_started, progress.started_round());
  }
  const int64_t every = options_.rounds_to_agreement;
  cut_ = (last_started + every) / every * every - 1;
  return true;
}

std::optional<RunOutcome> Stopping::Judge(
    const std::vector<Place>& places, const CheckpointCommits& commits) const {
  const bool all_finished = std::ranges::all_of(places, [](const Place& place) {
    return !place.is_member || place.progress.finished();
  });
  if (!cut_.has_value() && !all_finished) return std::nullopt;
  if (commits.committed_step() >= goal()) {
    return goal() == options_.rounds ? FinishedOutcome(goal())
                                     : ResumableOutcome(reason_, commits);
  }
  if (commits.settled_step() >= goal()) {
    return ResumableOutcome(last_failure_, commits);
  }
  if (!all_finished) return std::nullopt;
  return RunOutcome{.state = StatusReply::FAILED,
                    .exit_code = kExitInternal,
                    .detail = absl::StrCat(
                        "all workers have finished, but the checkpoint of ",
                        goal(), " rounds is incomplete")};
}

const std::string& Stopping::Detail() const {
  return outcome_.has_value() ? outcome_->detail : last_failure_;
}

void Stopping::End(RunOutcome outcome) {
  if (!outcome_.has_value()) outcome_ = std::move(outcome);
}

}  // namespace gandem
