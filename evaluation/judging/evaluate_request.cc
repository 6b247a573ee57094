// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/evaluate_request.h"

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "evaluation/features/feature_extractor.h"
#include "evaluation/features/inception_extractor.h"
#include "evaluation/images/derived_images.h"
#include "evaluation/judging/extra_metric.h"

namespace gandem {

absl::Status CheckEvaluateRequest(const EvaluateRequest& request) {
  Faults faults("arguments");
  const absl::StatusOr<MetricSet> metrics = ParseMetrics(request.metrics);
  if (!metrics.ok()) faults.Add(std::string(metrics.status().message()));
  if (!request.resize.empty() &&
      request.resize != EvaluateRequest::kKeepSizes) {
    const absl::Status kernel = CheckResizeKernel(request.resize);
    if (!kernel.ok()) faults.Add(std::string(kernel.message()));
    if (metrics.ok() && !metrics->needs_reference()) {
      faults.Add("resize needs a metric that compares with a reference");
    }
  }
  const auto precision = ParsePrecision(request.precision);
  if (!precision.ok()) {
    faults.Add(std::string(precision.status().message()));
  } else if (*precision != at::kFloat && !request.save_statistics.empty()) {
    faults.Add(
        "save_statistics writes a reference for others: use precision float32");
  }
  if (request.dims.has_value()) {
    const absl::Status dims = CheckInceptionDims(*request.dims);
    if (!dims.ok()) faults.Add(std::string(dims.message()));
    if (request.features.empty()) {
      faults.Add(
          "dims selects a layer of the FID Inception: give its weights with "
          "--features FILE");
    }
  }
  const NetworkFile network = ParseNetworkFile(request.features);
  if (!network.family.empty() && network.path.empty()) {
    faults.Add(absl::StrCat("features '", request.features,
                            "' names no file: ", network.family, ":FILE"));
  }
  if (metrics.ok()) {
    const absl::Status extras = WantedExtraMetrics(*metrics).status();
    if (!extras.ok()) faults.Add(std::string(extras.message()));
  }
  if (metrics.ok() && metrics->clip_discrepancy && request.features.empty()) {
    faults.Add("metric cmmd needs features of CLIP: --features clip:FILE");
  }
  if (metrics.ok() && metrics->takes_pairs()) {
    if (request.features.empty()) {
      faults.Add(
          absl::StrCat("metric ", request.metrics,
                       " needs weights of LPIPS: --features lpips:FILE"));
    }
    if (!request.save_statistics.empty()) {
      faults.Add(absl::StrCat("metric ", request.metrics,
                              " computes no features of single images, so "
                              "there are no statistics for save_statistics"));
    }
  }
  if (request.num.has_value()) {
    faults.CheckRange("num", *request.num, 2, EvaluateRequest::kMaxImages);
  }
  faults.CheckRange("splits", request.splits, 1, 1000);
  faults.CheckRange("kid_subsets", request.kernel.num_subsets, 1, 10000);
  faults.CheckRange("kid_subset", request.kernel.subset_rows, 2, 100000);
  faults.CheckRange("kid_degree", request.kernel.degree, 1, 10);
  if (request.neighbors.has_value()) {
    faults.CheckRange("prdc_k", *request.neighbors, 1, 1000);
  }
  const absl::Status input = ParseInputResize(request.input_resize).status();
  if (!input.ok()) faults.Add(std::string(input.message()));
  if (request.workers.has_value()) {
    faults.CheckRange("workers", *request.workers, 1,
                      EvaluateRequest::kMaxWorkers);
  }
  faults.CheckRange("halvings", request.halvings, 0, 10000);
  faults.CheckRange("feature_cache_gib", request.feature_cache_gib, 0, 100000);
  return faults.ToStatus();
}

absl::StatusOr<std::optional<InputResize>> InputResizeOf(
    const EvaluateRequest& request) {
  if (request.input_resize.empty()) return std::nullopt;
  return ParseInputResize(request.input_resize);
}

MetricOptions MetricOptionsOf(const EvaluateRequest& request,
                              const MetricSet& metrics) {
  MetricOptions options = {.metrics = metrics,
                           .splits = request.splits,
                           .halvings = request.halvings,
                           .kernel = request.kernel};
  if (request.neighbors.has_value()) {
    options.precision_recall = {.neighbors = *request.neighbors,
                                .density_neighbors = *request.neighbors};
  }
  return options;
}

}  // namespace gandem
