// SPDX-License-Identifier: Apache-2.0
//
// Metrics that extras compute (extras/README.md). MetricSet knows their names
// in every build, so that a build without one can say which extra it lacks.
//
// Owner: values. Thread safety: one compute thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "evaluation/features/feature_extractor.h"
#include "evaluation/judging/compute_metrics.h"
#include "evaluation/metrics/frechet_distance.h"
#include "proto/evaluation.pb.h"

namespace gandem {

struct MetricInput {
  const FeatureNet& net;
  const at::Tensor& images_ND;
  // Undefined where the metric needs no features of the reference.
  const at::Tensor& reference_ND;
  // Moments of the reference; null if the metric does not need them.
  const FrechetReference* reference = nullptr;
  int64_t num_reference = 0;
};

struct ExtraMetric {
  absl::string_view name;  // of --metric, "cmmd"
  absl::StatusOr<Metric> (*compute)(const MetricInput& input);
  // Returns why `num_images` is too small, or an empty string. Null: any number
  // will do.
  std::string (*too_few)(int64_t num_images) = nullptr;
  // Adds what the card has to warn of. Null: nothing.
  void (*warn)(int64_t num_images, int64_t feature_dim,
               MetricCard& card) = nullptr;
  // What the numbers of images, of which 0 is not known, add to every Frechet
  // distance, whether or not this metric is wanted; `eigenvalues` are those of
  // the reference's covariance. Null: the extra does not know.
  double (*predicted_bias)(std::span<const double> eigenvalues,
                           int64_t num_images, int64_t num_reference) = nullptr;
};

// The metrics of extras in this build.
std::vector<ExtraMetric> ExtraMetrics();

// The metrics of extras in `metrics`, out of `built`.
//   FAILED_PRECONDITION  `built` lacks one; names its extra.
absl::StatusOr<std::vector<ExtraMetric>> WantedExtraMetrics(
    const MetricSet& metrics,
    const std::vector<ExtraMetric>& built = ExtraMetrics());

// "KID" where the features are those that the name stands for, else
// "KID(<network>)".
std::string MetricName(absl::string_view metric, const FeatureNet& net);

}  // namespace gandem
