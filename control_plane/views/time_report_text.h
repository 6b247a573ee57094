// SPDX-License-Identifier: Apache-2.0
//
// Formats time reports as text and JSON.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "common/results/time_report.h"

namespace gandem {

// Returns a line for each role and, if there are several, for each worker.
std::string TimeReportText(const TimeReport& report);

// Returns a line for each run, compared with the first run. Images and rounds
// are those of the discriminator, shares of time are over all workers.
std::string ScalingText(std::span<const TimeReport> reports);

// Returns all numbers of all runs. Unknown numbers are null.
std::string TimeReportsJson(std::span<const TimeReport> reports);

}  // namespace gandem
