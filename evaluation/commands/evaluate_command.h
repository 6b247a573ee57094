// SPDX-License-Identifier: Apache-2.0
//
// `gandem evaluate`: evaluates a run's averaged generator, image files or a
// statistics file, and writes a metric card. An evaluation reuses the features
// of an interrupted one, and returns the card of an equal earlier one.
//
//   OUTPUT/NAME-METRICS-KEY.textproto, .json  the card; KEY is a hash of all
//                                             inputs of the figures
//   OUTPUT/work/KEY/                          the checkpoint's files, safe from
//                                             pruning until the card exists
// Features are cached in DefaultFeatureCache()/images (kept/held_folder.h), or
// stored in OUTPUT/work/KEY if there is no cache.
//
// Thread safety: one compute thread, which lives as long as the process.
// Errors: a Status with advice. No exceptions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/judging/evaluate_request.h"
#include "proto/evaluation.pb.h"

namespace gandem {

struct EvaluateReport {
  MetricCard card;
  std::string path;                       // path of the card
  bool was_there = false;                 // the card existed already
  std::vector<std::string> skipped = {};  // damaged checkpoints, reasons
};

//   INVALID_ARGUMENT  images or statistics are incompatible.
//   Errors of CheckEvaluateRequest, evaluation_inputs.h, image_set.h and
//   feature_extractor.h.
absl::StatusOr<EvaluateReport> RunEvaluateCommand(
    const EvaluateRequest& request);

}  // namespace gandem
