// SPDX-License-Identifier: Apache-2.0
//
// What a metric card says against its own numbers, and what the features that
// they are made of can tell apart.
//
// Thread safety: one compute thread. Errors: Status only.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "evaluation/judging/compute_metrics.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// The card's first metric is a Frechet distance of `num_images` images to the
// card's reference: where either are few, it depends on their number.
void WarnOfFewImages(int64_t num_images, MetricCard& card);

// The card has a distance within classes, of images and a reference with these
// labels.
void WarnOfSmallClasses(const at::Tensor& labels_N,
                        const at::Tensor& reference_labels_N,
                        int64_t num_classes, MetricCard& card);

// Adds rank, effective rank and density of the reference to the card's
// features, and warns where they are too small for a figure that means much.
// `features` are set where there are not only statistics.
//   errors of reading features.
absl::Status DescribeInformation(const FeatureNet& net,
                                 const Moments& reference,
                                 const std::optional<FeatureSide>& features,
                                 MetricCard& card);

// The card's two sides are the same images.
void WarnOfEqualSides(MetricCard& card);

}  // namespace gandem
