// SPDX-License-Identifier: Apache-2.0
//
// `gandem report`: where the time of runs went, as text or JSON; with --html
// all that is known of them as one page (report_format.h). Reads files only, so
// it works beside a training run and after it.
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
  std::string html = {};  // the page; empty: none
};

// The text goes to `out`.
//   NOT_FOUND            a folder holds no run, or the run has no metrics yet.
//   FAILED_PRECONDITION  one of the roles has no round yet, or --html needs an
//                        extra that this build does not have.
absl::Status RunReport(const ReportOptions& options, std::ostream& out);

}  // namespace gandem
