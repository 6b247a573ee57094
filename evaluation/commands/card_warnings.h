// SPDX-License-Identifier: Apache-2.0
//
// What a metric card says against its own numbers.
//
// Thread safety: pure functions on a card of one's own.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

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

}  // namespace gandem
