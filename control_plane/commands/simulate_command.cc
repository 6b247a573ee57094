// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/simulate_command.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"
#include "pipeline/control/pipeline_trace.h"

namespace gandem {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string RunLine(const std::string& name, const SimulatedRun& run) {
  return absl::StrFormat("%-50s %8.2f%% %9.2f s %9.2f s %9.1f %9.1f %8d\n",
                         name, 100 * run.LostShare(), run.stalled_seconds,
                         run.stolen_seconds, run.average_bytes / 1e6,
                         run.peak_bytes / 1e6, run.changes);
}

OrderedJson RunJson(const std::string& name, const SimulatedRun& run) {
  return {{"name", name},
          {"lost_share", run.LostShare()},
          {"stalled_seconds", run.stalled_seconds},
          {"stolen_seconds", run.stolen_seconds},
          {"average_bytes", run.average_bytes},
          {"peak_bytes", run.peak_bytes},
          {"samples", run.samples},
          {"changes", run.changes}};
}

}  // namespace

std::string ComparisonText(const PipelineComparison& comparison) {
  std::string text =
      absl::StrFormat("%-50s %9s %11s %11s %9s %9s %8s\n", "", "lost", "waited",
                      "stolen", "MB, mean", "MB, most", "changes");
  for (const ComparedRun& other : comparison.others) {
    text += RunLine(other.name, other.run);
  }
  text += "\nthe best static settings with the controller's average memory:\n";
  text += RunLine(comparison.best_static.name, comparison.best_static.run);
  text += RunLine(comparison.best_late_static.name,
                  comparison.best_late_static.run);
  absl::StrAppend(&text, "\n", RunLine("controller", comparison.controller));
  text +=
      absl::StrFormat("%-50s %9s %9.2f s\n", "nobody could wait for less than",
                      "", comparison.least_stall);
  if (!comparison.warning.empty()) {
    absl::StrAppend(&text, "warning of the controller: ", comparison.warning,
                    "\n");
  }
  return text;
}

std::string ComparisonJson(const PipelineComparison& comparison) {
  OrderedJson others = OrderedJson::array();
  for (const ComparedRun& other : comparison.others) {
    others.push_back(RunJson(other.name, other.run));
  }
  const OrderedJson json = {
      {"others", others},
      {"best_static",
       RunJson(comparison.best_static.name, comparison.best_static.run)},
      {"best_late_static", RunJson(comparison.best_late_static.name,
                                   comparison.best_late_static.run)},
      {"controller", RunJson("controller", comparison.controller)},
      {"least_stalled_seconds", comparison.least_stall},
      {"warning", comparison.warning}};
  return json.dump(2);
}

absl::Status SimulatePipeline(const SimulateOptions& options,
                              std::ostream& out) {
  GANDEM_ASSIGN_OR_RETURN(const PipelineTrace trace,
                          ReadPipelineTrace(options.trace));
  const PipelineComparison comparison =
      ComparePipelines(trace, options.memory_bytes);
  out << (options.json ? ComparisonJson(comparison) + "\n"
                       : ComparisonText(comparison));
  return absl::OkStatus();
}

}  // namespace gandem
