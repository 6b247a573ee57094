// SPDX-License-Identifier: Apache-2.0
//
// A few numbers about a set of images and the distance of two such sets, for
// `gandem sample --check` (docs/reference/sample_check.md has the formulas,
// typical values and limits).
//
// Owner: values. Thread safety: one thread at a time.
// Errors: INVALID_ARGUMENT says which set cannot be compared and why.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "common/image_shape.h"
#include "evaluation/metrics/feature_moments.h"
#include "pipeline/resampler.h"

namespace gandem {

// All pixel values are bytes divided by 255, as a PNG would hold them.
struct PixelStatistics {
  static constexpr int64_t kCoarseSize = 8;  // largest side in pixels
  static constexpr int kBins = 16;

  ImageShape shape;
  // Moments of the images, averaged to kCoarseSize x kCoarseSize.
  Moments coarse = {};
  // Fraction of all pixel values in each sixteenth of [0, 1].
  std::array<double, kBins> histogram = {};
  // Mean absolute difference of horizontal and vertical neighbors.
  double roughness = 0;
};

// Adds up images one at a time.
class PixelAccumulator {
 public:
  explicit PixelAccumulator(ImageShape shape);

  // `image` is CHW in [-1, 1]; it is quantized first.
  void Add(std::span<const float> image);

  //   FAILED_PRECONDITION  fewer than 2 images.
  absl::StatusOr<PixelStatistics> Finish() const;

 private:
  ImageShape shape_;
  ImageShape coarse_;
  Resampler resampler_;
  FeatureMoments moments_;
  std::array<int64_t, PixelStatistics::kBins> counts_ = {};
  double difference_sum_ = 0;
};

// Each part is 0 for equal statistics and about 1 for images that have nothing
// in common with the real ones.
struct SampleDistance {
  // Frechet distance of the coarse images' Gaussians, divided by the total
  // variance of the real ones. A single repeated image has at least 1.
  double structure = 0;
  // Total variation distance of the histograms, in [0, 1].
  double histogram = 0;
  // |a - b| / (a + b) of the two roughnesses, in [0, 1].
  double roughness = 0;

  double Total() const { return structure + histogram + roughness; }
};

//   INVALID_ARGUMENT  the shapes differ, or the real images are all the same.
absl::StatusOr<SampleDistance> ComputeSampleDistance(
    const PixelStatistics& real, const PixelStatistics& generated);

}  // namespace gandem
