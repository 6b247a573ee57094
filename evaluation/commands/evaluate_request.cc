// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluate_request.h"

#include "common/faults.h"
#include "evaluation/features/inception_input.h"
#include "evaluation/images/resized_images.h"

namespace gandem {

absl::Status CheckEvaluateRequest(const EvaluateRequest& request) {
  Faults faults("evaluate");
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
  if (request.bootstrap != 0) {
    faults.CheckRange("bootstrap", request.bootstrap, 2, 10000);
  }
  return faults.ToStatus();
}

MetricOptions MetricOptionsOf(const EvaluateRequest& request,
                              const MetricSet& metrics, int64_t num_classes) {
  MetricOptions options = {.metrics = metrics,
                           .splits = request.splits,
                           .bootstrap = request.bootstrap,
                           .num_classes = num_classes,
                           .kernel = request.kernel};
  if (request.neighbors.has_value()) {
    options.precision_recall = {.neighbors = *request.neighbors,
                                .density_neighbors = *request.neighbors};
  }
  return options;
}

}  // namespace gandem
