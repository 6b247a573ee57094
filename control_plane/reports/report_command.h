// SPDX-License-Identifier: Apache-2.0
//
// `gandem report` prints how runs spent their time, as text or JSON. --html
// writes one page with all facts about the runs (report_format.h). Reads only
// files, so the command works during a run and after it.
//
// Owner: main(). Thread safety: the main thread.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace gandem {

struct ReportOptions {
  std::vector<std::string> run_dirs;  // at least one
  bool json = false;
  std::string html = {};  // path of the page; empty: no page
};

// Prints the report to `out`.
//   NOT_FOUND  a folder holds no run, or the run has no metrics yet
//   FAILED_PRECONDITION  a role has no round yet, or --html needs an extra that
//       this build lacks
absl::Status RunReport(const ReportOptions& options, std::ostream& out);

}  // namespace gandem
