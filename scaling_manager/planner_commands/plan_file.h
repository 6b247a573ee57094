// SPDX-License-Identifier: Apache-2.0
//
// A plan as a file, and as text for a terminal.
// Thread safety: pure functions, except for files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace gandem {

// Whether a text is a plan: every plan has candidates, and no recipe has.
bool LooksLikePlan(absl::string_view text);

// Parses and checks a plan; `file` is its name in messages.
//   INVALID_ARGUMENT  no plan, with line and column; no candidates; or a
//                     candidate, numbered from 1, whose config is invalid or
//                     whose
//                     workers do not match its config.
absl::StatusOr<Plan> ParsePlan(absl::string_view text, absl::string_view file);

// Reads the file at `path` as ParsePlan does; also errors of ReadFile.
absl::StatusOr<Plan> ReadPlan(const std::string& path);

absl::Status WritePlan(const Plan& plan, const std::string& path);

// Whether both roles run in one process.
bool IsColocated(const Candidate& candidate);

// --- For people ---

// The candidates as a table, followed by the reasons.
std::string PlanTable(const Plan& plan);

// Describes the first candidate, which is about to run: its name, speed,
// memory, bottleneck and, if the plan has reasons, why it was chosen.
std::vector<std::string> PlanLines(const Plan& plan);

}  // namespace gandem
