// SPDX-License-Identifier: Apache-2.0
//
// `gandem compare`: a table of runs with intervals, and in words whether the
// best of them is better than each other one (run_comparison.h). Reads recipes
// and metric cards only.
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
  std::string metric = {};            // beginning of a name; empty: the first
  std::optional<int64_t> step = {};   // none: the newest of all
  bool json = false;
};

// The text goes to `out`.
//   NOT_FOUND  a folder holds no run; and those of CompareRuns.
absl::Status RunCompare(const CompareOptions& options, std::ostream& out);

}  // namespace gandem
