// SPDX-License-Identifier: Apache-2.0
//
// Formats of `gandem report` that extras provide (extras/README.md).
//
// Owner: values. Thread safety: pure functions, except for reading files.
// Errors: those of common/files/file.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/results/round_history.h"
#include "common/results/time_report.h"

namespace gandem {

struct ReportedRun {
  TimeReport report;
  RoundHistory history;
};

struct ReportFormat {
  absl::string_view name;  // name of the option: "html" for --html
  // Returns the contents of the report file.
  absl::StatusOr<std::string> (*write)(std::span<const ReportedRun> runs);
};

// Returns the formats of the extras in this build.
std::vector<ReportFormat> ExtraReportFormats();

// Returns the format "html".
//   FAILED_PRECONDITION  `formats` lacks it; names the extra that provides it
absl::StatusOr<ReportFormat> HtmlFormatOf(
    std::span<const ReportFormat> formats);

}  // namespace gandem
