// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_file.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/quantities.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {

bool LooksLikePlan(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "candidates")) return true;
  }
  return false;
}

absl::StatusOr<Plan> ParsePlan(absl::string_view text, absl::string_view file) {
  Plan plan;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, file, plan));
  if (plan.candidates_size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": the plan has no candidates; `gandem plan RECIPE -o ", file,
        "` makes one"));
  }
  for (int i = 0; i < plan.candidates_size(); ++i) {
    const Candidate& candidate = plan.candidates(i);
    absl::Status status = ValidateRunConfig(candidate.config());
    if (status.ok()) {
      status = CheckPlacement(candidate.placement(), plan.machines(),
                              candidate.config());
    }
    GANDEM_RETURN_IF_ERROR(
        Annotate(status, absl::StrCat(file, ": candidate ", i + 1)));
  }
  return plan;
}

absl::StatusOr<Plan> ReadPlan(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  return ParsePlan(text, path);
}

absl::Status WritePlan(const Plan& plan, const std::string& path) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  GANDEM_CHECK(printer.PrintToString(plan, &text));
  return WriteFileDurably(path, text);
}

bool IsColocated(const Candidate& candidate) {
  return candidate.placement().workers_size() > 0 &&
         candidate.placement().workers(0).role() == COLOCATED;
}

// --- Text for a terminal ---

namespace {

using PlanRow = std::vector<std::string>;

constexpr char kPlanLegend[] =
    "\ntime: to the quality of the best synchronous run, or of the best run if "
    "none\n"
    "is synchronous, which takes 1; needed: images for it, and the interval.\n"
    "memory: the largest worker of each role, or its GPU.\n"
    "waits: the part of a round in which the role waits. docs/planning.md\n";

std::string PlanPercent(double share) {
  return absl::StrFormat("%.0f%%", 100 * share);
}

std::string MemoryText(const Prediction& prediction) {
  const std::string generator = BytesText(prediction.generator_bytes());
  const std::string discriminator = BytesText(prediction.discriminator_bytes());
  return generator == discriminator
             ? generator
             : absl::StrCat(generator, " + ", discriminator);
}

// The recipe as it is has no candidate to compare with.
std::string TimeText(const Prediction& prediction) {
  return prediction.time_to_quality() > 0
             ? NumberText(prediction.time_to_quality())
             : "-";
}

std::string NeededText(const Prediction& prediction) {
  return absl::StrFormat("%.2f (%.2f-%.2f)", prediction.images_needed(),
                         prediction.images_needed_low(),
                         prediction.images_needed_high());
}

PlanRow RowOf(int number, const Candidate& candidate) {
  const Prediction& prediction = candidate.prediction();
  return {absl::StrCat(number),
          candidate.name(),
          NumberText(prediction.images_per_second()),
          TimeText(prediction),
          NeededText(prediction),
          MemoryText(prediction),
          PlanPercent(prediction.generator_wait()),
          PlanPercent(prediction.discriminator_wait()),
          prediction.bottleneck()};
}

// Aligns text to the left and numbers to the right.
std::string AlignedRows(const std::vector<PlanRow>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const PlanRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const PlanRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      const bool is_text = i == 1 || i + 1 == row.size();
      absl::StrAppend(&line, i == 0 ? "" : "  ", is_text ? "" : space, row[i],
                      is_text ? space : "");
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace

std::string PlanTable(const Plan& plan) {
  std::vector<PlanRow> rows = {{"", "candidate", "img/s", "time", "needed",
                                "memory", "G waits", "D waits", "bottleneck"}};
  for (int i = 0; i < plan.candidates_size(); ++i) {
    rows.push_back(RowOf(i + 1, plan.candidates(i)));
  }
  std::string text = AlignedRows(rows);
  absl::StrAppend(&text, kPlanLegend);
  if (plan.reasons_size() == 0) return text;
  absl::StrAppend(&text, "\nwhy 1:\n  ", absl::StrJoin(plan.reasons(), "\n  "),
                  "\n");
  return text;
}

std::vector<std::string> PlanLines(const Plan& plan) {
  const Candidate& chosen = plan.candidates(0);
  const Prediction& prediction = chosen.prediction();
  std::vector<std::string> lines = {
      absl::StrCat("plan: ", chosen.name(), ", one of ", plan.candidates_size(),
                   " candidates"),
      absl::StrCat("predicted: ", NumberText(prediction.images_per_second()),
                   " images/s, ", TimeText(prediction),
                   " of the best synchronous run's time to its quality"),
      absl::StrCat("memory: ", MemoryText(prediction)),
      absl::StrCat("bottleneck: ", prediction.bottleneck(), "; G waits ",
                   PlanPercent(prediction.generator_wait()), ", D waits ",
                   PlanPercent(prediction.discriminator_wait()))};
  // The reasons are for the plan's own first candidate.
  if (plan.reasons_size() > 0) {
    lines.push_back(absl::StrCat("why: ", plan.reasons(0)));
  }
  return lines;
}

}  // namespace gandem
