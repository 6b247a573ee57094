// SPDX-License-Identifier: Apache-2.0
//
// A statistics file as what is judged: only a Frechet distance can be computed
// of it, and where the reference is a statistics file, too, no network is
// needed.
//
// Owner: values. Thread safety: one compute thread. Errors: Status only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evaluation/features/feature_extractor.h"
#include "evaluation/features/inception_input.h"
#include "evaluation/judging/compute_metrics.h"
#include "evaluation/judging/evaluate_request.h"
#include "evaluation/judging/evaluation_inputs.h"
#include "evaluation/metrics/statistics_file.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// Whether the request is for what can be had of statistics.
//   INVALID_ARGUMENT  lists what needs images.
absl::Status CheckStatisticsRequest(const EvaluateRequest& request,
                                    const MetricSet& metrics);

// The same of the statistics file `name` as a reference.
absl::Status CheckReferenceStatistics(const std::string& name,
                                      const MetricSet& metrics);

// The network of the features of two statistics files, by what either says of
// it; without name and hash where neither does. `input_resize` is of the
// request.
FeatureNet NetOfStatistics(const FeatureStatistics& images,
                           const FeatureStatistics& reference,
                           std::optional<InputResize> input_resize);

// Whether the statistics of the file `name` may be compared with features of
// `net`. Returns what had to be assumed, as warnings.
//   INVALID_ARGUMENT  they are of another network or resize.
absl::StatusOr<std::vector<std::string>> CheckStatisticsOf(
    const std::string& name, const FeatureStatistics& statistics,
    const FeatureNet& net);

// Errors of reading the file `name`.
absl::StatusOr<ImagesCard> CardOfStatistics(
    const std::string& name, const FeatureStatistics& statistics);

}  // namespace gandem
