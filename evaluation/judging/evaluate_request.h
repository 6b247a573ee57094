// SPDX-License-Identifier: Apache-2.0
//
// A request of `gandem evaluate`.
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
  static constexpr char kKeepSizes[] = "none";  // value of `resize`

  SubjectRequest subject;
  std::string metrics = "fid";
  // Number of images. Default: 50,000 generated images, or all files.
  std::optional<int64_t> num = {};
  std::string reference = {};
  // With `num`: take the first files by name instead of a random subset.
  bool first = false;
  // Kernel (derived_images.h) that resizes images to the reference's size;
  // "none": images keep their sizes; empty: other sizes are refused.
  std::string resize = {};
  std::string input_resize = {};     // inception_input.h; empty: tf1
  std::optional<int64_t> dims = {};  // CheckInceptionDims; default: 2048
  std::string features = {};         // ParseNetworkFile; empty: a classifier
  std::string precision = {};        // ParsePrecision
  std::string output = {};           // empty: Subject::output
  std::string save_statistics = {};  // file for the images' statistics
  int64_t splits = 10;
  int64_t halvings = 20;  // for the sd of the distance; 0: none
  // Disk space for features that later evaluations reuse; 0: none are kept.
  int64_t feature_cache_gib = 8;
  KernelDistanceOptions kernel = {};
  // Neighbors for precision, recall, density and coverage. Default: those of
  // the papers (precision_recall.h).
  std::optional<int64_t> neighbors = {};
  std::optional<int> workers = {};  // default: by cores and images
  // Called regularly with a line for the user.
  std::function<void(const std::string&)> say = {};
};

// Checks the request before any file is read.
//   INVALID_ARGUMENT  lists options out of range.
absl::Status CheckEvaluateRequest(const EvaluateRequest& request);

// Returns nullopt if the request names no resize.
//   INVALID_ARGUMENT  another name; lists them.
absl::StatusOr<std::optional<InputResize>> InputResizeOf(
    const EvaluateRequest& request);

// Options of the metrics, from a checked request.
MetricOptions MetricOptionsOf(const EvaluateRequest& request,
                              const MetricSet& metrics);

}  // namespace gandem
