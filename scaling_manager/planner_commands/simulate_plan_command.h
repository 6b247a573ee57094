// SPDX-License-Identifier: Apache-2.0
//
// `gandem simulate PLAN`: a plan on other numbers of devices, as tables, as a
// curve and as a picture.
//
// Owner: main(). Thread safety: one thread.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scaling_manager/planner/scaling/scaling_study.h"

namespace gandem {

struct SimulatePlanOptions {
  std::string plan = {};
  std::string profile = {};  // empty: beside the plan, or the one kept
  std::string devices = "1..1024";
  // Of a round, relative; negative: as the profile measured it.
  double jitter = -1;
  double mtbf_hours = 0;  // of one device; 0: nothing fails
  double checkpoint_seconds = 1;
  double restart_seconds = 60;
  std::string chart = {};  // an SVG file; empty: none
  bool csv = false;
};

// Writes tables or CSV to `out`, and the chart.
//   INVALID_ARGUMENT, NOT_FOUND  name the flag, or the file and its field.
//   errors of common/files/file.h
absl::Status SimulatePlan(const SimulatePlanOptions& options,
                          std::ostream& out);

// A table and a curve of '#'.
std::string ScalingTable(Scaling scaling, const std::vector<ScalingRow>& rows,
                         bool has_failures);
// The efficiency over devices, with what failures leave of it, as SVG.
std::string EfficiencyChart(const std::vector<ScalingRow>& weak,
                            const std::vector<ScalingRow>& strong);
// A line for each row, with the names of the columns before them.
std::string ScalingCsv(const std::vector<ScalingRow>& weak,
                       const std::vector<ScalingRow>& strong);

}  // namespace gandem
