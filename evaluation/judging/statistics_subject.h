// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of a statistics file instead of images: only a Frechet distance
// can be computed, without a network if the reference is statistics, too.
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

// Checks that statistics are enough for the request.
//   INVALID_ARGUMENT  lists the options that need images.
absl::Status CheckStatisticsRequest(const EvaluateRequest& request,
                                    const MetricSet& metrics);

// Checks that the statistics file `name` is enough as a reference.
absl::Status CheckReferenceStatistics(const std::string& name,
                                      const MetricSet& metrics);

// The network that either of two statistics files names; without a hash if
// neither names one. `input_resize` is of the request.
FeatureNet NetOfStatistics(const FeatureStatistics& images,
                           const FeatureStatistics& reference,
                           std::optional<InputResize> input_resize);

// Checks that statistics of the file `name` are comparable with features of
// `net`. Returns warnings about assumptions.
//   INVALID_ARGUMENT  the statistics are of another network or resize.
absl::StatusOr<std::vector<std::string>> CheckStatisticsOf(
    const std::string& name, const FeatureStatistics& statistics,
    const FeatureNet& net);

// Errors of reading the file `name`.
absl::StatusOr<ImagesCard> CardOfStatistics(
    const std::string& name, const FeatureStatistics& statistics);

}  // namespace gandem
