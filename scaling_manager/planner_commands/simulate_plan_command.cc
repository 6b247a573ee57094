// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/simulate_plan_command.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/results/line_chart.h"
#include "common/status.h"
#include "scaling_manager/planner/model/profile_probes.h"
#include "scaling_manager/planner/model/role_costs.h"
#include "scaling_manager/planner_commands/plan_file.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "scaling_manager/profiler/profile_file.h"

namespace gandem {
namespace {

// The aim that a plan is held against.
constexpr double kGoodEfficiency = 0.95;
constexpr int kCurveWidth = 50;

// Also one that was never measured, without a recipe and a fingerprint
// (docs/scaling).
absl::StatusOr<Profile> ReadNumbers(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  Profile profile;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, profile));
  GANDEM_RETURN_IF_ERROR(Annotate(CheckProfile(profile), path));
  return profile;
}

std::string ProfileBeside(const std::string& plan) {
  const size_t slash = plan.rfind('/');
  return absl::StrCat(
      slash == std::string::npos ? "" : plan.substr(0, slash + 1),
      "profile.textproto");
}

absl::StatusOr<Profile> ProfileOf(const SimulatePlanOptions& options,
                                  const Plan& plan) {
  if (!options.profile.empty()) return ReadNumbers(options.profile);
  const std::string path = ProfileBeside(options.plan);
  absl::StatusOr<Profile> profile = ReadNumbers(path);
  if (!absl::IsNotFound(profile.status())) return profile;
  std::optional<Profile> kept =
      FindCachedProfile(FingerprintHere(plan.candidates(0).config()));
  if (kept.has_value()) return *std::move(kept);
  return absl::NotFoundError(absl::StrCat(
      "there is no ", path, ", and no profile of the plan's networks is kept ",
      "on this machine: say by --profile which one the plan was made of"));
}

// As `gandem plan` refuses it; profiles that were never measured have none.
absl::Status CheckSameModel(const Profile& profile, const Plan& plan) {
  if (!profile.has_fingerprint() ||
      profile.fingerprint().networks() ==
          NetworksHash(plan.candidates(0).config())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the profile is of another model than the plan, or of another device: of "
      "'",
      profile.recipe().name(), "' as it was then; say by --profile which one ",
      "the plan was made of"));
}

absl::StatusOr<StudyOptions> StudyOf(const SimulatePlanOptions& options) {
  Faults faults("arguments");
  if (options.jitter >= 0) {
    faults.CheckRange("--jitter", options.jitter, 0.0, 10.0);
  }
  faults.CheckRange("--mtbf_hours", options.mtbf_hours, 0.0, 1e9);
  faults.CheckRange("--checkpoint_seconds", options.checkpoint_seconds, 1e-6,
                    1e6);
  faults.CheckRange("--restart_seconds", options.restart_seconds, 0.0, 1e6);
  if (!faults.empty()) return faults.ToStatus();
  GANDEM_ASSIGN_OR_RETURN(std::vector<int> devices,
                          ParseDevices(options.devices));
  return StudyOptions{.devices = std::move(devices),
                      .jitter = options.jitter,
                      .failures = {.mean_between = 3600 * options.mtbf_hours,
                                   .checkpoint = options.checkpoint_seconds,
                                   .restart = options.restart_seconds}};
}

// With what failures leave of it.
double ShareOf(const ScalingRow& row) { return row.efficiency * row.useful; }

// Which has the least of its devices; of equals the last.
const ScalingRow* WorstRow(const std::vector<ScalingRow>& rows) {
  const ScalingRow* worst = nullptr;
  for (const ScalingRow& row : rows) {
    if (!row.why_not.empty()) continue;
    if (worst == nullptr || ShareOf(row) <= ShareOf(*worst)) worst = &row;
  }
  return worst;
}

// What would keep the worst row above the aim.
absl::StatusOr<std::string> PlanThatScales(
    const Profile& profile, Plan plan, const StudyOptions& study,
    const std::vector<ScalingRow>& rows) {
  const ScalingRow* const worst = WorstRow(rows);
  if (worst == nullptr) return std::string();
  if (ShareOf(*worst) >= kGoodEfficiency) {
    return absl::StrFormat("This plan stays above %.0f %% up to %d devices.\n",
                           100 * kGoodEfficiency, study.devices.back());
  }
  std::string tried;
  for (const Variant& variant : OverlapVariants(plan.candidates(0))) {
    *plan.mutable_candidates(0)->mutable_config() = variant.candidate.config();
    StudyOptions largest = study;
    largest.devices = {worst->devices};
    const absl::StatusOr<std::vector<ScalingRow>> changed =
        StudyScaling(profile, plan, Scaling::kWeak, largest);
    if (!changed.ok()) continue;
    // Against the plan as it is: by its own first row a variant would hide what
    // it costs.
    const double efficiency = worst->efficiency * changed->back().useful *
                              changed->back().images_per_second /
                              worst->images_per_second;
    if (efficiency >= kGoodEfficiency) {
      return absl::StrFormat("With %s it stays above %.0f %%: %.1f %% at %d.\n",
                             variant.name, 100 * kGoodEfficiency,
                             100 * efficiency, worst->devices);
    }
    absl::StrAppendFormat(&tried, "  with %s: %.1f %%\n", variant.name,
                          100 * efficiency);
  }
  return absl::StrCat("No change that was tried keeps it above ",
                      100 * kGoodEfficiency, " % at ", worst->devices, ":\n",
                      tried.empty() ? "  there is none\n" : tried);
}

std::string CsvField(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

void AppendCsv(const char* scaling, const std::vector<ScalingRow>& rows,
               std::string& csv) {
  for (const ScalingRow& row : rows) {
    absl::StrAppendFormat(
        &csv, "%s,%d,%d,%d,%d,%.6g,%.6f,%.6f,%.6f,%.6f,%d,%s,%s\n", scaling,
        row.devices, row.generators, row.discriminators, row.batch,
        row.images_per_second, row.efficiency, row.generator_wait,
        row.discriminator_wait, row.useful, row.checkpoint_rounds,
        CsvField(row.bottleneck), CsvField(row.why_not));
  }
}

}  // namespace

std::string ScalingTable(Scaling scaling, const std::vector<ScalingRow>& rows,
                         bool has_failures) {
  std::string text = scaling == Scaling::kWeak
                         ? "weak scaling: the images of a device stay\n"
                         : "strong scaling: the batch stays\n";
  absl::StrAppendFormat(
      &text, "%8s %5s %5s %8s %11s %10s %7s %7s  %s%s\n", "devices", "G", "D",
      "batch", "images/s", "efficiency", "G waits", "D waits",
      has_failures ? " useful  checkpoint every  " : "", "bottleneck");
  std::string curve;
  double most = 1;
  for (const ScalingRow& row : rows) most = std::max(most, ShareOf(row));
  for (const ScalingRow& row : rows) {
    if (!row.why_not.empty()) {
      absl::StrAppendFormat(&text, "%8d  %s\n", row.devices, row.why_not);
      continue;
    }
    std::string failures;
    if (has_failures) {
      failures = absl::StrFormat("%6.1f%%  %8.0f s, %5d  ", 100 * row.useful,
                                 row.checkpoint_seconds, row.checkpoint_rounds);
    }
    absl::StrAppendFormat(
        &text, "%8d %5d %5d %8d %11.1f %9.1f%% %6.1f%% %6.1f%%  %s%s\n",
        row.devices, row.generators, row.discriminators, row.batch,
        row.images_per_second, 100 * row.efficiency, 100 * row.generator_wait,
        100 * row.discriminator_wait, failures, row.bottleneck);
    if (curve.empty()) {
      curve = absl::StrFormat(
          "100 %%: the images/s of a device where there are %d%s\n",
          row.devices, has_failures ? "; times the useful part" : "");
    }
    const auto length =
        static_cast<size_t>(std::lround(ShareOf(row) / most * kCurveWidth));
    absl::StrAppendFormat(&curve, "%8d |%s %.1f %%\n", row.devices,
                          std::string(length, '#'), 100 * ShareOf(row));
  }
  return absl::StrCat(text, curve);
}

std::string EfficiencyChart(const std::vector<ScalingRow>& weak,
                            const std::vector<ScalingRow>& strong) {
  const auto line_of = [](const char* name,
                          const std::vector<ScalingRow>& rows) {
    ChartLine line = {.name = name};
    for (const ScalingRow& row : rows) {
      if (!row.why_not.empty()) continue;
      line.points.push_back(
          {.x = static_cast<double>(row.devices), .y = 100 * ShareOf(row)});
    }
    return line;
  };
  const LinePanel panel = {.title = "efficiency, %",
                           .x_label = "devices",
                           .lines = {line_of("weak scaling", weak),
                                     line_of("strong scaling", strong)},
                           .doubling = true};
  return LineChart({&panel, 1});
}

std::string ScalingCsv(const std::vector<ScalingRow>& weak,
                       const std::vector<ScalingRow>& strong) {
  std::string csv =
      "scaling,devices,generators,discriminators,batch,images_per_second,"
      "efficiency,generator_wait,discriminator_wait,useful,checkpoint_rounds,"
      "bottleneck,why_not\n";
  AppendCsv("weak", weak, csv);
  AppendCsv("strong", strong, csv);
  return csv;
}

absl::Status SimulatePlan(const SimulatePlanOptions& options,
                          std::ostream& out) {
  if (!options.chart.empty() && !absl::EndsWith(options.chart, ".svg")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--chart '", options.chart, "': the chart is SVG: name a file .svg"));
  }
  GANDEM_ASSIGN_OR_RETURN(const StudyOptions study, StudyOf(options));
  GANDEM_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(options.plan));
  GANDEM_ASSIGN_OR_RETURN(const Profile profile, ProfileOf(options, plan));
  GANDEM_RETURN_IF_ERROR(CheckSameModel(profile, plan));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ScalingRow> weak,
                          StudyScaling(profile, plan, Scaling::kWeak, study));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ScalingRow> strong,
                          StudyScaling(profile, plan, Scaling::kStrong, study));
  if (!options.chart.empty()) {
    GANDEM_RETURN_IF_ERROR(
        WriteFileDurably(options.chart, EfficiencyChart(weak, strong)));
  }
  if (options.csv) {
    out << ScalingCsv(weak, strong);
    return absl::OkStatus();
  }
  const bool fails = options.mtbf_hours > 0;
  out << plan.candidates(0).name() << "; a round varies by "
      << absl::StrFormat("%.1f %%",
                         100 * (options.jitter < 0 ? MeasuredJitter(profile)
                                                   : options.jitter))
      << "\n\n"
      << ScalingTable(Scaling::kWeak, weak, fails) << "\n"
      << ScalingTable(Scaling::kStrong, strong, fails) << "\n";
  GANDEM_ASSIGN_OR_RETURN(const std::string better,
                          PlanThatScales(profile, plan, study, weak));
  out << better;
  return absl::OkStatus();
}

}  // namespace gandem
