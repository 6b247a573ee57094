// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_text.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/files/quantities.h"

namespace gandem {
namespace {

using PlanRow = std::vector<std::string>;

constexpr char kPlanLegend[] =
    "images for it, and the interval. memory: the largest worker of each "
    "role, or its GPU.\n"
    "waits: the part of a round in which the role waits. docs/planning.md\n";

// Whether times are of the best candidate's, since none is synchronous.
bool LacksSynchronous(const Plan& plan) {
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : plan.candidates()) {
    if (candidate.config().schedule().lag() == 0) return false;
    least = std::min(least, candidate.prediction().time_to_quality());
  }
  return least > 0.999;
}

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

// Of a recipe as it is there is nothing to compare with.
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

// Text to the left, numbers to the right.
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
  absl::StrAppend(&text, "\ntime: to the quality of the best ",
                  LacksSynchronous(plan) ? "candidate (none is synchronous)"
                                         : "synchronous run",
                  ", which takes 1; needed:\n", kPlanLegend);
  if (plan.reasons_size() == 0) return text;
  absl::StrAppend(&text, "\nwhy 1:\n  ", absl::StrJoin(plan.reasons(), "\n  "),
                  "\n");
  return text;
}

std::vector<std::string> PlanLines(const Plan& plan, int candidate) {
  const Candidate& chosen = plan.candidates(candidate);
  const Prediction& prediction = chosen.prediction();
  // The reasons are the first candidate's: why, bottleneck, what would help.
  const auto reason = [&plan, candidate](int i) -> std::string {
    return candidate == 0 && i < plan.reasons_size() ? plan.reasons(i) : "-";
  };
  // Without reasons it is not the plan's own first.
  const bool is_own_first = plan.reasons_size() > 0 || candidate > 0;
  std::vector<std::string> lines = {
      is_own_first ? absl::StrCat("plan: ", chosen.name(), ", candidate ",
                                  candidate + 1, " of ", plan.candidates_size())
                   : absl::StrCat("plan: ", chosen.name(), ", one of ",
                                  plan.candidates_size(), " candidates"),
      absl::StrCat("predicted: ", NumberText(prediction.images_per_second()),
                   " images/s, ", TimeText(prediction),
                   " of the best synchronous run's time to its quality"),
      absl::StrCat("memory: ", MemoryText(prediction)),
      absl::StrCat("bottleneck: ", prediction.bottleneck(), "; G waits ",
                   PlanPercent(prediction.generator_wait()), ", D waits ",
                   PlanPercent(prediction.discriminator_wait()))};
  if (is_own_first) {
    lines.push_back(absl::StrCat("why: ", reason(0)));
    lines.push_back(reason(2) == "-" ? "to be faster: see candidate 1"
                                     : reason(2));
  }
  return lines;
}

double GainOver(Plan::Objective objective, const Prediction& prediction,
                const Prediction& other) {
  const auto needed = [objective](const Prediction& of) {
    return objective == Plan::THROUGHPUT || of.images_needed() <= 0
               ? 1.0
               : of.images_needed();
  };
  if (!(other.images_per_second() > 0)) return 1;
  return prediction.images_per_second() / needed(prediction) /
         (other.images_per_second() / needed(other));
}

}  // namespace gandem
