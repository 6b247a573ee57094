// SPDX-License-Identifier: Apache-2.0
//
// What `gandem evaluate` is asked for.
//
// Owner: values. Thread safety: pure functions. Errors: Status only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evaluation/features/inception_input.h"
#include "evaluation/judging/compute_metrics.h"
#include "evaluation/judging/evaluation_inputs.h"

namespace gandem {

struct EvaluateRequest {
  static constexpr int64_t kMaxImages = 10'000'000;
  static constexpr int kMaxWorkers = 1024;
  static constexpr char kKeepSizes[] = "none";  // of `resize`

  SubjectRequest subject;
  std::string metrics = "fid";
  // Generated images: 50,000 if not given; of files: all.
  std::optional<int64_t> num = {};
  std::string reference = {};
  // With `num`: the first images of files, by name, rather than drawn ones.
  bool first = false;
  // Kernel (derived_images.h) that brings images to the size of the
  // reference's; "none": all keep their sizes; empty: other sizes are refused.
  std::string resize = {};
  std::string input_resize = {};     // inception_input.h; empty: tf1
  std::optional<int64_t> dims = {};  // CheckInceptionDims; not set: 2048
  std::string features = {};         // ParseNetworkFile; empty: a classifier
  std::string precision = {};        // ParsePrecision
  std::string output = {};           // empty: the subject's
  std::string save_statistics = {};  // of the judged images, for others
  int64_t splits = 10;
  int64_t halvings = 20;  // for the sd of the distance; 0: none
  // Disk for features that the next evaluation uses again; 0: none are kept.
  int64_t feature_cache_gib = 8;
  KernelDistanceOptions kernel = {};
  // Of precision and recall, and of density and coverage; not set: those of
  // their papers (precision_recall.h).
  std::optional<int64_t> neighbors = {};
  std::optional<int> workers = {};  // by cores and images if not given
  // Lines for the user, now and then.
  std::function<void(const std::string&)> say = {};
};

// What is wrong with the request by itself, before any file is looked at:
//   INVALID_ARGUMENT     lists options out of range.
absl::Status CheckEvaluateRequest(const EvaluateRequest& request);

// Not set: the request does not say it.
//   INVALID_ARGUMENT  another name; lists them.
absl::StatusOr<std::optional<InputResize>> InputResizeOf(
    const EvaluateRequest& request);

// What the metrics of a checked request are computed with.
MetricOptions MetricOptionsOf(const EvaluateRequest& request,
                              const MetricSet& metrics);

}  // namespace gandem
