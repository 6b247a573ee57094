// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluate_checkpoints.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/results/line_chart.h"
#include "common/results/round_history.h"
#include "common/status.h"
#include "evaluation/commands/evaluate_command.h"
#include "evaluation/judging/evaluation_reference.h"

namespace gandem {
namespace {

constexpr double kSecondsPerHour = 3600;

absl::Status CheckForAll(const EvaluateRequest& request) {
  if (request.subject.checkpoint.has_value() ||
      !request.save_statistics.empty()) {
    return absl::InvalidArgumentError(
        "--every_checkpoint judges all checkpoints: --checkpoint and "
        "--save_statistics are for one of them");
  }
  if (request.precision == EvaluateRequest::kFastest) {
    return absl::InvalidArgumentError(
        "--every_checkpoint compares checkpoints, and --precision fastest may "
        "choose another one for each: name a precision");
  }
  const std::string& run_dir = request.subject.source;
  if (PathExists(run_dir + "/config.textproto") &&
      !PathExists(absl::StrCat(run_dir, "/", kManifestName))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", run_dir,
                   "' is not the folder of a run (it has no config.textproto): "
                   "--every_checkpoint judges the checkpoints of one"));
}

// Judges those that have no card. Returns the names of all cards.
absl::StatusOr<std::set<std::string>> JudgeAll(const EvaluateRequest& request,
                                               std::vector<int64_t> steps,
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
                   "' could be judged; of ", report.skipped.front()));
}

LinePanel PanelOf(const CheckpointCurve& judged, const std::string& x_label,
                  double (*x_of)(const TrainingClock::Reading&)) {
  LinePanel panel = {
      .title = judged.curve.metric, .x_label = x_label, .lines = {{}}};
  const JudgedPoint& best = judged.curve.Best();
  for (size_t i = 0; i < judged.curve.points.size(); ++i) {
    const JudgedPoint& point = judged.curve.points[i];
    panel.lines[0].points.push_back({.x = x_of(judged.readings[i]),
                                     .y = point.value,
                                     .spread = 2 * point.sd.value_or(0)});
    if (point.step == best.step) panel.best = panel.lines[0].points.back();
  }
  return panel;
}

std::string ChartOf(const CheckpointCurve& judged) {
  const std::array<LinePanel, 2> panels = {
      PanelOf(judged, "images",
              [](const TrainingClock::Reading& at) { return at.images; }),
      PanelOf(judged, "hours of training",
              [](const TrainingClock::Reading& at) {
                return at.seconds / kSecondsPerHour;
              })};
  return LineChart(panels);
}

// What may be in the name of a file.
std::string FileNameOf(const std::string& metric) {
  std::string name;
  for (const char letter : metric) {
    name += absl::ascii_isalnum(letter) ? letter : '-';
  }
  return name;
}

absl::Status WriteChart(const std::string& folder, CheckpointCurve& judged) {
  judged.chart =
      absl::StrCat(folder, "/curve-", FileNameOf(judged.curve.metric), "-",
                   ShortKey(judged.curve.setting), ".svg");
  return WriteFileDurably(judged.chart, ChartOf(judged));
}

bool HoldsOneOf(const JudgedCurve& curve, const std::set<std::string>& cards) {
  return std::ranges::any_of(curve.points, [&cards](const JudgedPoint& point) {
    return cards.contains(point.card);
  });
}

// Without metrics there is no time to plot against: all readings are 0.
absl::StatusOr<TrainingClock> ClockOf(const std::string& run_dir) {
  const absl::StatusOr<RoundHistory> history = RoundHistory::Read(run_dir);
  if (absl::IsNotFound(history.status())) return TrainingClock();
  GANDEM_RETURN_IF_ERROR(history.status());
  return TrainingClock(*history);
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
                     run_dir, "` says how far it is"));
  }
  std::ranges::sort(steps);
  CheckpointsReport report;
  report.checkpoints = std::ssize(steps);
  GANDEM_ASSIGN_OR_RETURN(const std::set<std::string> cards,
                          JudgeAll(request, steps, report));
  const std::string folder =
      request.output.empty() ? run_dir + "/evaluation" : request.output;
  GANDEM_ASSIGN_OR_RETURN(JudgedCurves all, ReadJudgedCurves(folder));
  GANDEM_ASSIGN_OR_RETURN(const TrainingClock clock, ClockOf(run_dir));
  for (JudgedCurve& curve : all.curves) {
    if (!HoldsOneOf(curve, cards)) continue;
    CheckpointCurve judged;
    judged.curve = std::move(curve);
    for (const JudgedPoint& point : judged.curve.points) {
      judged.readings.push_back(clock.At(point.step));
    }
    GANDEM_RETURN_IF_ERROR(WriteChart(folder, judged));
    report.curves.push_back(std::move(judged));
  }
  return report;
}

std::string CheckpointsText(const CheckpointsReport& report) {
  std::string text = absl::StrCat("checkpoints: ", report.checkpoints,
                                  ", judged now: ", report.judged, "\n");
  for (const CheckpointCurve& judged : report.curves) {
    const JudgedCurve& curve = judged.curve;
    const JudgedPoint& best = curve.Best();
    absl::StrAppendFormat(&text, "\n%9s %9s %9s  %s\n", "round", "images",
                          "hours", curve.metric);
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const JudgedPoint& point = curve.points[i];
      Metric metric;
      metric.set_value(point.value);
      if (point.sd.has_value()) metric.set_sd(*point.sd);
      absl::StrAppendFormat(&text, "%9d %9s %9.3g  %s%s\n", point.step,
                            ShortNumber(judged.readings[i].images),
                            judged.readings[i].seconds / kSecondsPerHour,
                            MetricValueText(metric),
                            point.step == best.step ? "  <- best" : "");
    }
    absl::StrAppend(&text, "best: the checkpoint of step ", best.step, ", ",
                    ShortNumber(best.value), " (", curve.about,
                    ")\nchart: ", judged.chart, "\n");
  }
  return text;
}

}  // namespace gandem
