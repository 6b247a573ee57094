// SPDX-License-Identifier: Apache-2.0
//
// `gandem compare` prints a table of runs with confidence intervals, and states
// whether the best run is better than each other run (run_comparison.h).
//
// Owner: main(). Thread safety: the main thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace gandem {

struct CompareOptions {
  std::vector<std::string> run_dirs;  // at least two
  std::string metric = {};            // see CompareRuns
  std::optional<int64_t> step = {};   // see CompareRuns
  bool json = false;
};

// Prints the comparison to `out`. Errors: those of CompareRuns, and
//   NOT_FOUND  a folder holds no run.
absl::Status RunCompare(const CompareOptions& options, std::ostream& out);

}  // namespace gandem
