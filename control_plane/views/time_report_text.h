// SPDX-License-Identifier: Apache-2.0
//
// Time reports for people and for programs.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "common/results/time_report.h"

namespace gandem {

// A line for each role, followed by a line for each of its workers if there are
// several.
std::string TimeReportText(const TimeReport& report);

// A line for each run, compared with the first run. Images and rounds are those
// of the discriminator, shares of time those of all workers.
std::string ScalingText(std::span<const TimeReport> reports);

// All numbers of all runs. Unknown numbers are null.
std::string TimeReportsJson(std::span<const TimeReport> reports);

}  // namespace gandem
