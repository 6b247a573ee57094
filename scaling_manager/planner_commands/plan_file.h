// SPDX-License-Identifier: Apache-2.0
//
// A plan on disk, and on a terminal.
//
// Thread safety: pure functions, but for files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace gandem {

// Whether a text is that of a plan: no recipe has candidates, and no plan is
// without.
bool LooksLikePlan(absl::string_view text);

// `file` is its name in messages.
//   INVALID_ARGUMENT  no plan, with line and column; or it has no candidates, a
//                     config that cannot be run, or workers that are not those
//                     of their config; names the candidate, from 1.
absl::StatusOr<Plan> ParsePlan(absl::string_view text, absl::string_view file);

// The same for the file at `path`; and errors of ReadFile.
absl::StatusOr<Plan> ReadPlan(const std::string& path);

absl::Status WritePlan(const Plan& plan, const std::string& path);

// Both roles in one process.
bool IsColocated(const Candidate& candidate);

// --- For people ---

// A row for each candidate, below a row of headings and above the reasons.
std::string PlanTable(const Plan& plan);

// The first candidate, which is about to be run: its name, speed, memory, what
// holds it up, and, where the plan has reasons, why it was chosen.
std::vector<std::string> PlanLines(const Plan& plan);

}  // namespace gandem
