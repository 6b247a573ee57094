// SPDX-License-Identifier: Apache-2.0
//
// Metrics that extras compute (extras/README.md). MetricSet knows their names
// in every build, so that a build without an extra can name it.
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
  // Undefined if the metric needs no features of the reference.
  const at::Tensor& reference_ND;
  // Moments of the reference; null if the metric does not need them.
  const FrechetReference* reference = nullptr;
  int64_t num_reference = 0;
};

struct ExtraMetric {
  absl::string_view name;  // in --metric, "cmmd"
  absl::StatusOr<Metric> (*compute)(const MetricInput& input);
  // Returns why `num_images` is too small, or an empty string. Null: any number
  // will do.
  std::string (*too_few)(int64_t num_images) = nullptr;
  // Adds warnings to the card. Null: none.
  void (*warn)(int64_t num_images, int64_t feature_dim,
               MetricCard& card) = nullptr;
  // Bias of every Frechet distance, even if this metric is not requested, from
  // the numbers of images (0: unknown) and the `eigenvalues` of the reference's
  // covariance. Null: the extra predicts none.
  double (*predicted_bias)(std::span<const double> eigenvalues,
                           int64_t num_images, int64_t num_reference) = nullptr;
};

// The metrics of extras in this build.
std::vector<ExtraMetric> ExtraMetrics();

// Returns the metrics of extras in `metrics`, out of `built`.
//   FAILED_PRECONDITION  `built` lacks one; names its extra.
absl::StatusOr<std::vector<ExtraMetric>> WantedExtraMetrics(
    const MetricSet& metrics,
    const std::vector<ExtraMetric>& built = ExtraMetrics());

// "KID" for the published Inception, else "KID(<network>)".
std::string MetricName(absl::string_view metric, const FeatureNet& net);

}  // namespace gandem
