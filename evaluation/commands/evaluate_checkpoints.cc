// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluate_checkpoints.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/files/quantities.h"
#include "common/status.h"
#include "evaluation/commands/evaluate_command.h"

namespace gandem {
namespace {

absl::Status CheckForAll(const EvaluateRequest& request) {
  if (request.subject.checkpoint.has_value() ||
      !request.save_statistics.empty()) {
    return absl::InvalidArgumentError(
        "--every_checkpoint evaluates all checkpoints: --checkpoint and "
        "--save_statistics are for one of them");
  }
  const std::string& run_dir = request.subject.source;
  if (PathExists(run_dir + "/config.textproto") &&
      !PathExists(absl::StrCat(run_dir, "/", kManifestName))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", run_dir,
                   "' is not a run directory (it has no config.textproto): "
                   "--every_checkpoint evaluates the checkpoints of a run"));
}

// Evaluates the checkpoints without a card. Returns the names of all cards.
absl::StatusOr<std::set<std::string>> JudgeAll(
    const EvaluateRequest& request, const std::vector<int64_t>& steps,
    CheckpointsReport& report) {
  std::set<std::string> cards;
  for (const int64_t step : steps) {
    EvaluateRequest one = request;
    one.subject.checkpoint = step;
    if (request.say) request.say(absl::StrCat("checkpoint of step ", step));
    const absl::StatusOr<EvaluateReport> judged = RunEvaluateCommand(one);
    if (absl::IsDataLoss(judged.status()) ||
        (absl::IsNotFound(judged.status()) &&
         !PathExists(CheckpointPath(request.subject.source, step)))) {
      report.skipped.push_back(
          absl::StrCat("step ", step, ": ", judged.status().message()));
      continue;
    }
    GANDEM_RETURN_IF_ERROR(judged.status());
    if (!judged->was_there) ++report.judged;
    cards.insert(judged->path.substr(judged->path.find_last_of('/') + 1));
  }
  if (!cards.empty()) return cards;
  return absl::DataLossError(
      absl::StrCat("no checkpoint of '", request.subject.source,
                   "' could be evaluated; ", report.skipped.front()));
}

}  // namespace

absl::StatusOr<CheckpointsReport> EvaluateCheckpoints(
    const EvaluateRequest& request) {
  GANDEM_RETURN_IF_ERROR(CheckForAll(request));
  const std::string& run_dir = request.subject.source;
  GANDEM_ASSIGN_OR_RETURN(std::vector<int64_t> steps, ListCheckpoints(run_dir));
  if (steps.empty()) {
    return absl::NotFoundError(
        absl::StrCat("'", run_dir, "' has no checkpoint yet; `gandem status ",
                     run_dir, "` shows its progress"));
  }
  std::ranges::sort(steps);
  CheckpointsReport report;
  report.checkpoints = std::ssize(steps);
  GANDEM_ASSIGN_OR_RETURN(const std::set<std::string> cards,
                          JudgeAll(request, steps, report));
  GANDEM_ASSIGN_OR_RETURN(
      JudgedCurves all,
      ReadJudgedCurves(request.output.empty() ? run_dir + "/evaluation"
                                              : request.output));
  for (JudgedCurve& curve : all.curves) {
    const bool asked_for = std::ranges::any_of(
        curve.points,
        [&](const JudgedPoint& point) { return cards.contains(point.card); });
    if (asked_for) report.curves.push_back(std::move(curve));
  }
  return report;
}

std::string CheckpointsText(const CheckpointsReport& report) {
  std::string text = absl::StrCat("checkpoints: ", report.checkpoints,
                                  ", evaluated now: ", report.judged, "\n");
  for (const JudgedCurve& curve : report.curves) {
    const JudgedPoint& best = curve.Best();
    absl::StrAppendFormat(&text, "\n%9s  %s\n", "round", curve.metric);
    for (const JudgedPoint& point : curve.points) {
      Metric metric;
      metric.set_value(point.value);
      if (point.sd.has_value()) metric.set_sd(*point.sd);
      absl::StrAppendFormat(&text, "%9d  %s%s\n", point.step,
                            MetricValueText(metric),
                            point.step == best.step ? "  <- best" : "");
    }
    absl::StrAppend(&text, "best: the checkpoint of step ", best.step, ", ",
                    ShortNumber(best.value), " (", curve.about, ")\n");
  }
  return text;
}

}  // namespace gandem
