// SPDX-License-Identifier: Apache-2.0
//
// `gandem evaluate RUN --every_checkpoint`: evaluates each complete checkpoint
// without a metric card, then prints a table of the figures in all cards, those
// of pruned checkpoints included.
//
// Thread safety: one compute thread. Errors: those of evaluate_command.h, and
//   NOT_FOUND         the run has no checkpoint.
//   INVALID_ARGUMENT  SOURCE is no run, or an option is for one checkpoint.
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
  int64_t judged = 0;                // checkpoints evaluated by this call
  int64_t checkpoints = 0;           // checkpoints of the run
  std::vector<std::string> skipped;  // damaged or pruned ones, with reasons
};

absl::StatusOr<CheckpointsReport> EvaluateCheckpoints(
    const EvaluateRequest& request);

// Returns one table per metric, with the best checkpoint marked.
std::string CheckpointsText(const CheckpointsReport& report);

}  // namespace gandem
