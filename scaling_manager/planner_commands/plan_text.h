// SPDX-License-Identifier: Apache-2.0
//
// A plan for people.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace gandem {

// A row for each candidate, below a row of headings and above the reasons.
std::string PlanTable(const Plan& plan);

// The candidate (from 0) that is about to be run, in six lines: its name,
// speed, memory, what holds it up, why it, and what would make it faster.
std::vector<std::string> PlanLines(const Plan& plan, int candidate);

// How many times as fast as `other` it serves the objective.
double GainOver(Plan::Objective objective, const Prediction& prediction,
                const Prediction& other);

}  // namespace gandem
