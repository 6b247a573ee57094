// SPDX-License-Identifier: Apache-2.0
//
// `gandem trials`: finds the best optimizers for a recipe by short real runs
// with several seeds each and successive halving (planner/trials/trials.h).
//   OUTPUT/trials.textproto       the study and its scores, after every run
//   OUTPUT/runs/TRIAL-seed-SEED/  the runs; each is resumed from rung to rung
// Runs are child processes of `gandem train --colocated` (a decoupled run has
// the same bits), one at a time, scored by `gandem evaluate`. Children die with
// this process, and the same command resumes the study.
// Owner: main(). Thread safety: one thread, which lives as long as the process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace gandem {

struct TrialsOptions {
  std::string recipe;
  std::string output;             // a folder
  std::vector<std::string> sets;  // "path.to.field=value", in all trials
  int trials = 8;                 // at most
  int seeds = 3;
  int64_t rounds = 0;  // of the longest runs; 0: a tenth of the recipe's
  double hours = 1;    // limit for all runs together, earlier ones included
  // Arguments of `gandem evaluate`; empty: --num 2000.
  std::vector<std::string> evaluate_arguments;
};

// Returns the study that `options` describe, without scores.
//   INVALID_ARGUMENT  the recipe is invalid, or an option is out of range
absl::StatusOr<Trials> StudyOf(const TrialsOptions& options);

// Runs the study. Prints each score and, at the end or when the time is over,
// the verdict. Returns errors of StudyOf and of runs (with the end of the log),
// and
//   FAILED_PRECONDITION  the folder holds another study
absl::Status RunTrials(const TrialsOptions& options, FILE* out);

}  // namespace gandem
