// SPDX-License-Identifier: Apache-2.0
//
// Image sets derived from another one: a random subset, images of another size,
// or pairs.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "evaluation/images/image_set.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// Draws images without replacement, since the first images of a folder sorted
// by class are no fair sample. The choice is a function of (seed, count, size
// of the set) alone. Images keep their order, so that archives are read from
// front to back.
//   INVALID_ARGUMENT  the count is not in [1, size of the set].
absl::StatusOr<std::unique_ptr<ImageSet>> SubsetOf(
    std::unique_ptr<ImageSet> inner, const ImagesSpec::Subset& subset);

// Resizes images to bytes of another size. The kernel changes what a metric
// sees (Parmar, Zhang and Zhu 2022, "On aliased resizing"), so its name goes
// into the metric card:
//
//   area      pipeline/resampler.h: mean over the source's area where it
//             shrinks, bilinear where it grows
//   bilinear  between the four nearest pixel centers, without smoothing
//   bicubic   with smoothing where it shrinks, as Pillow's
//
//   INVALID_ARGUMENT  there is no such kernel, or the size is below 1.
absl::StatusOr<std::unique_ptr<ImageSet>> ResizeImages(
    std::unique_ptr<ImageSet> inner, const ImagesSpec::Resize& spec);

// INVALID_ARGUMENT  there is no such kernel; lists them.
absl::Status CheckResizeKernel(absl::string_view kernel);

// Pairs of images, each image in at most one pair: element i has the channels
// of one image and then those of another. Pairs are drawn at random, since
// neighbors may be of one class, as a function of the set's size alone. The
// images of a generator are random already: pair i is 2 i and 2 i + 1. shape()
// is that of one image.
//   INVALID_ARGUMENT  the images are of several sizes, or there is only one.
absl::StatusOr<std::unique_ptr<ImageSet>> PairsOf(
    std::unique_ptr<ImageSet> inner);

}  // namespace gandem
