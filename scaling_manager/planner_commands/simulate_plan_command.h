// SPDX-License-Identifier: Apache-2.0
//
// `gandem simulate PLAN`: predicts a plan on other numbers of devices, as
// tables.
// Owner: main(). Thread safety: one thread.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/status.h"

namespace gandem {

struct SimulatePlanOptions {
  std::string plan = {};
  // empty: the file beside the plan, or the cached one
  std::string profile = {};
  std::string devices = "1..1024";
  // Relative variation of round times; negative: as measured in the profile.
  double jitter = -1;
};

// Writes a table of weak and a table of strong scaling.
//   INVALID_ARGUMENT, NOT_FOUND  name the flag, or the file and its field.
//   errors of common/files/file.h
absl::Status SimulatePlan(const SimulatePlanOptions& options,
                          std::ostream& out);

}  // namespace gandem
