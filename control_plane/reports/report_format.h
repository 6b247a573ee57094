// SPDX-License-Identifier: Apache-2.0
//
// Forms of `gandem report` that extras write (extras/README.md).
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
  absl::string_view name;  // of its option: "html" of --html
  // The text of the file.
  absl::StatusOr<std::string> (*write)(std::span<const ReportedRun> runs);
};

// The forms in this build.
std::vector<ReportFormat> ExtraReportFormats();

// FAILED_PRECONDITION: `formats` has no "html"; names the extra that brings it.
absl::StatusOr<ReportFormat> HtmlFormatOf(
    std::span<const ReportFormat> formats);

}  // namespace gandem
