// SPDX-License-Identifier: Apache-2.0
//
// `gandem evaluate`: evaluates a run's averaged generator, images of files, or
// their statistics, and writes a metric card. A job reuses the features of a
// killed job, and returns the card of an earlier equal evaluation.
//
//   OUTPUT/NAME-METRICS-KEY.textproto, .json  the card; KEY is a hash of all
//                                             that the figures depend on
//   OUTPUT/work/KEY/                          the checkpoint's files, safe from
//                                             pruning until the card exists
// Features of both sides stay in folders (kept/held_folder.h) of images/ in
// DefaultFeatureCache(). Without a cache they are in OUTPUT/work/KEY.
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
  std::string path;        // path of the card
  bool was_there = false;  // the card existed, so nothing was computed
  std::vector<std::string> skipped = {};  // newer, damaged checkpoints: why
};

//   INVALID_ARGUMENT  images or statistics do not fit each other.
//   Errors of CheckEvaluateRequest, evaluation_inputs.h, image_set.h and
//   feature_extractor.h.
absl::StatusOr<EvaluateReport> RunEvaluateCommand(
    const EvaluateRequest& request);

}  // namespace gandem
