// SPDX-License-Identifier: Apache-2.0
//
// `gandem evaluate`: judges a run's averaged generator, or images of files, and
// writes a metric card. Nothing that a killed job has computed is computed
// again, and what was judged before is not judged again.
//
//   OUTPUT/NAME-METRICS-KEY.textproto, .json  the card; KEY stands for all that
//                                             the figures depend on
//   OUTPUT/work/KEY/                          features until the card is there,
//                                             and the checkpoint's files, safe
//                                             from pruning
// Features of a reference stay in the cache (train_features.h).
//
// Thread safety: one compute thread, which lives as long as the process.
// Errors: a Status whose message says what to do; nothing escapes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "evaluation/commands/compute_metrics.h"
#include "evaluation/commands/evaluation_inputs.h"
#include "proto/evaluation.pb.h"

namespace gandem {

struct EvaluateRequest {
  static constexpr int64_t kMaxImages = 10'000'000;
  static constexpr int kMaxWorkers = 1024;

  SubjectRequest subject;
  std::string metrics = "fid";
  // Generated images: 50,000 if not given; of files: all.
  std::optional<int64_t> num = {};
  std::string reference = {};
  // Kernel (resized_images.h) that brings images to the size of the
  // reference's; empty: other sizes are refused.
  std::string resize = {};
  std::string features = {};
  std::string output = {};           // empty: the subject's
  std::string save_statistics = {};  // of the judged images, for others
  int64_t splits = 10;
  int64_t bootstrap = 20;
  std::optional<int> workers = {};  // by cores and images if not given
  // Lines for the user, now and then.
  std::function<void(const std::string&)> say = {};
};

struct EvaluateReport {
  MetricCard card;
  std::string path;        // of the card
  bool was_there = false;  // nothing was computed
};

// What is wrong with the request by itself, before any file is looked at:
//   INVALID_ARGUMENT     lists options out of range.
absl::Status CheckEvaluateRequest(const EvaluateRequest& request);

//   INTERNAL             the self-test failed: this machine computes wrongly.
//   INVALID_ARGUMENT     images or statistics that do not fit each other.
//   and those of CheckEvaluateRequest, evaluation_inputs.h, image_set.h,
//   feature_extractor.h.
absl::StatusOr<EvaluateReport> RunEvaluateCommand(
    const EvaluateRequest& request);

}  // namespace gandem
