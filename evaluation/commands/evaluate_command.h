// SPDX-License-Identifier: Apache-2.0
//
// `gandem evaluate`: judges a run's averaged generator, images of files, or
// their statistics, and writes a metric card. Nothing that a killed job has
// computed is computed again, and what was judged before is not judged again.
//
//   OUTPUT/NAME-METRICS-KEY.textproto, .json  the card; KEY stands for all that
//                                             the figures depend on
//   OUTPUT/work/KEY/                          the checkpoint's files, safe from
//                                             pruning, until the card is there
// Features of both sides stay in folders (kept/held_folder.h) of images/ in
// DefaultFeatureCache(), or go with OUTPUT/work/KEY where nothing is to be
// kept.
//
// Thread safety: one compute thread, which lives as long as the process.
// Errors: a Status whose message says what to do; nothing escapes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/judging/evaluate_request.h"
#include "proto/evaluation.pb.h"

namespace gandem {

struct EvaluateReport {
  MetricCard card;
  std::string path;        // of the card
  bool was_there = false;  // nothing was computed
  // Newer checkpoints that are damaged, and why.
  std::vector<std::string> skipped = {};
};

//   INVALID_ARGUMENT     images or statistics that do not fit each other.
//   and those of CheckEvaluateRequest, evaluation_inputs.h, image_set.h,
//   feature_extractor.h.
absl::StatusOr<EvaluateReport> RunEvaluateCommand(
    const EvaluateRequest& request);

}  // namespace gandem
