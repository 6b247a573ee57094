// SPDX-License-Identifier: Apache-2.0
//
// `gandem evaluate RUN --every_checkpoint`: judges each complete checkpoint of
// a run that has no card yet, then shows the figures of all rounds that were
// judged in this way, with the best one, as a table. (TensorBoard and the page
// of `gandem report` plot them.) Checkpoints that were pruned since stay in it
// by their cards.
//
// Thread safety: one compute thread. Errors: those of evaluate_command.h, and
//   NOT_FOUND         the run has no checkpoint.
//   INVALID_ARGUMENT  SOURCE is no run; options for one checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/results/judged_curves.h"
#include "evaluation/judging/evaluate_request.h"

namespace gandem {

struct CheckpointsReport {
  std::vector<JudgedCurve> curves;
  int64_t judged = 0;       // now; the others had their cards
  int64_t checkpoints = 0;  // that the run has
  // Checkpoints that are damaged or were pruned meanwhile, and why.
  std::vector<std::string> skipped;
};

absl::StatusOr<CheckpointsReport> EvaluateCheckpoints(
    const EvaluateRequest& request);

// A table for each figure, its best checkpoint marked and named.
std::string CheckpointsText(const CheckpointsReport& report);

}  // namespace gandem
