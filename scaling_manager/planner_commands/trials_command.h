// SPDX-License-Identifier: Apache-2.0
//
// `gandem trials`: which optimizers are best for a recipe, by short real runs
// with several seeds each and successive halving (planner/trials/trials.h).
//
//   OUTPUT/trials.textproto       the study and its scores, after every run
//   OUTPUT/runs/TRIAL-seed-SEED/  the runs; each goes on from rung to rung
//
// Runs are `gandem train --colocated` as children, one at a time, judged by
// `gandem evaluate`: a decoupled run has the same bits. Children die with us,
// and the same command goes on.
//
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
  double hours = 1;    // of all runs together, those before included
  // For `gandem evaluate`; empty: --num 2000.
  std::vector<std::string> evaluate_arguments;
};

// The study that `options` ask for, without scores.
//   INVALID_ARGUMENT  the recipe, or too few trials, seeds or rounds.
absl::StatusOr<Trials> StudyOf(const TrialsOptions& options);

// Says each score and, at the end or when the time is up, what it means.
//   FAILED_PRECONDITION  the folder has another study.
//   those of StudyOf; a run's, with the end of its log.
absl::Status RunTrials(const TrialsOptions& options, FILE* out);

}  // namespace gandem
