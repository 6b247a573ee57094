// SPDX-License-Identifier: Apache-2.0
//
// Plans as files, and as text for a terminal.
// Thread safety: pure functions, except for files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace gandem {

// Returns whether a text is a plan: only plans have candidates.
bool LooksLikePlan(absl::string_view text);

// Parses and checks a plan. `file`: its name in messages.
//   INVALID_ARGUMENT  not a plan, with line and column; no candidates; or a
//       candidate, numbered from 1, whose config is invalid or whose workers do
//       not match its config
absl::StatusOr<Plan> ParsePlan(absl::string_view text, absl::string_view file);

// Reads the file at `path`. Returns errors of ReadFile and ParsePlan.
absl::StatusOr<Plan> ReadPlan(const std::string& path);

absl::Status WritePlan(const Plan& plan, const std::string& path);

bool IsColocated(const Candidate& candidate);

// --- Text for a terminal ---

// Returns the candidates as a table, followed by the reasons.
std::string PlanTable(const Plan& plan);

// Describes the first candidate before it runs: its name, speed, memory,
// bottleneck and, if the plan has reasons, why it was chosen.
std::vector<std::string> PlanLines(const Plan& plan);

}  // namespace gandem
