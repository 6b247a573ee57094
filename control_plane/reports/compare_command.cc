// SPDX-License-Identifier: Apache-2.0
#include "control_plane/reports/compare_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/run_config.h"
#include "common/files/printable.h"
#include "common/results/judged_curves.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "control_plane/reports/run_comparison.h"

namespace gandem {
namespace {

using Json = nlohmann::ordered_json;

// Returns bytes that are equal for runs of one recipe with different seeds.
std::string RecipeOf(RunConfig config) {
  config = EffectiveConfig(config);
  config.clear_seed();
  config.clear_name();
  config.clear_rounds();
  config.clear_checkpoint();
  config.clear_samples();
  config.clear_control();
  return config.SerializeAsString();
}

absl::StatusOr<ComparedRun> ReadComparedRun(const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          RunFolder(run_dir).ReadConfig());
  GANDEM_ASSIGN_OR_RETURN(JudgedCurves judged,
                          ReadJudgedCurves(run_dir + "/evaluation"));
  return ComparedRun{.run_dir = run_dir,
                     .recipe = RecipeOf(config),
                     .seed = config.seed(),
                     .curves = std::move(judged.curves)};
}

std::string StepsText(const ComparedSide& side) {
  const auto [low, high] = std::ranges::minmax(side.steps);
  return low == high ? absl::StrCat(low) : absl::StrCat(low, " to ", high);
}

std::string ComparisonText(const RunComparison& comparison) {
  size_t width = 3;
  for (const ComparedSide& side : comparison.sides) {
    width = std::max(width, side.name.size());
  }
  std::string text = absl::StrFormat(
      "%s, %s is better: %s\n\n%-*s  %9s  %9s  %s\n", comparison.metric,
      comparison.lower_is_better ? "lower" : "higher", comparison.about,
      static_cast<int>(width), "run", "round", "value", "95 % interval");
  for (const ComparedSide& side : comparison.sides) {
    absl::StrAppendFormat(
        &text, "%-*s  %9s  %9.4g  %s\n", static_cast<int>(width), side.name,
        StepsText(side), side.mean,
        side.interval.has_value()
            ? absl::StrFormat("%.4g to %.4g, by %s", side.interval->low,
                              side.interval->high, side.interval_of)
            : "unknown");
  }
  for (const std::string& note : comparison.notes) {
    absl::StrAppend(&text, "note: ", note, "\n");
  }
  absl::StrAppend(&text, "\n");
  for (const Verdict& verdict : comparison.verdicts) {
    absl::StrAppend(&text, verdict.text, "\n");
  }
  if (comparison.verdicts.empty()) {
    absl::StrAppend(&text,
                    "Nothing to compare: the recipes differ in nothing but "
                    "the seed.\n");
  }
  // Names of folders, and of networks in cards, may not be printable.
  return PrintableText(text);
}

Json IntervalJson(const std::optional<Interval>& interval) {
  return interval.has_value() ? Json::array({interval->low, interval->high})
                              : Json();
}

std::string ComparisonJson(const RunComparison& comparison) {
  Json sides = Json::array();
  for (const ComparedSide& side : comparison.sides) {
    sides.push_back({{"name", side.name},
                     {"runs", side.runs},
                     {"steps", side.steps},
                     {"values", side.values},
                     {"mean", side.mean},
                     {"interval", IntervalJson(side.interval)},
                     {"interval_of", side.interval_of}});
  }
  Json verdicts = Json::array();
  for (const Verdict& verdict : comparison.verdicts) {
    verdicts.push_back({{"better", verdict.better},
                        {"other", verdict.other},
                        {"difference", verdict.difference},
                        {"interval", IntervalJson(verdict.interval)},
                        {"is_sure", verdict.is_sure},
                        {"text", verdict.text}});
  }
  const Json all = {{"metric", comparison.metric},
                    {"about", comparison.about},
                    {"lower_is_better", comparison.lower_is_better},
                    {"sides", std::move(sides)},
                    {"verdicts", std::move(verdicts)},
                    {"notes", comparison.notes}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::Status RunCompare(const CompareOptions& options, std::ostream& out) {
  std::vector<ComparedRun> runs;
  for (const std::string& run_dir : options.run_dirs) {
    GANDEM_ASSIGN_OR_RETURN(ComparedRun run, ReadComparedRun(run_dir));
    runs.push_back(std::move(run));
  }
  GANDEM_ASSIGN_OR_RETURN(const RunComparison comparison,
                          CompareRuns(runs, options.metric, options.step));
  out << (options.json ? ComparisonJson(comparison)
                       : ComparisonText(comparison));
  return absl::OkStatus();
}

}  // namespace gandem
