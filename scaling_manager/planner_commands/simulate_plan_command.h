// SPDX-License-Identifier: Apache-2.0
//
// `gandem simulate PLAN`: a plan on other numbers of devices, as tables.
//
// Owner: main(). Thread safety: one thread.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/status.h"

namespace gandem {

struct SimulatePlanOptions {
  std::string plan = {};
  std::string profile = {};  // empty: beside the plan, or the one kept
  std::string devices = "1..1024";
  // Of a round, relative; negative: as the profile measured it.
  double jitter = -1;
};

// Writes a table of weak and one of strong scaling.
//   INVALID_ARGUMENT, NOT_FOUND  name the flag, or the file and its field.
//   errors of common/files/file.h
absl::Status SimulatePlan(const SimulatePlanOptions& options,
                          std::ostream& out);

}  // namespace gandem
