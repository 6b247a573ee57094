// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/pixel_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/png.h"
#include "common/status.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"

namespace gandem {
namespace {

ImageShape CoarseShape(ImageShape shape) {
  return {.channels = shape.channels,
          .height = std::min(shape.height, PixelStatistics::kCoarseSize),
          .width = std::min(shape.width, PixelStatistics::kCoarseSize)};
}

// Sum of |differences| of all pairs of neighbors.
double NeighborDifferences(std::span<const float> image, ImageShape shape) {
  double sum = 0;
  const int64_t num_rows = shape.channels * shape.height;
  for (int64_t row = 0; row < num_rows; ++row) {
    for (int64_t x = 0; x < shape.width; ++x) {
      const float* pixel = image.data() + row * shape.width + x;
      if (x + 1 < shape.width) sum += std::abs(pixel[1] - pixel[0]);
      if ((row + 1) % shape.height != 0) {
        sum += std::abs(pixel[shape.width] - pixel[0]);
      }
    }
  }
  return sum;
}

int64_t NumNeighbors(ImageShape shape) {
  return shape.channels *
         (shape.height * (shape.width - 1) + (shape.height - 1) * shape.width);
}

}  // namespace

PixelAccumulator::PixelAccumulator(ImageShape shape)
    : shape_(shape),
      coarse_(CoarseShape(shape)),
      resampler_(shape, coarse_),
      moments_(coarse_.NumValues()) {}

void PixelAccumulator::Add(std::span<const float> image) {
  GANDEM_CHECK(static_cast<int64_t>(image.size()) == shape_.NumValues());
  std::vector<float> pixels;
  pixels.reserve(image.size());
  for (const float value : image) {
    const uint8_t byte = QuantizePixel(value);
    ++counts_[byte * PixelStatistics::kBins / 256];
    pixels.push_back(static_cast<float>(byte) / 255.0f);
  }
  difference_sum_ += NeighborDifferences(pixels, shape_);
  std::vector<float> coarse(coarse_.NumValues());
  resampler_.Apply(pixels, coarse);
  // Add cannot fail: bytes are finite and the shape is always the same.
  GANDEM_CHECK(
      moments_.Add(at::from_blob(coarse.data(), {1, coarse_.NumValues()}))
          .ok());
}

absl::StatusOr<PixelStatistics> PixelAccumulator::Finish() const {
  PixelStatistics result = {.shape = shape_};
  GANDEM_ASSIGN_OR_RETURN(result.coarse, moments_.Finish());
  const auto count = static_cast<double>(result.coarse.count);
  for (int bin = 0; bin < PixelStatistics::kBins; ++bin) {
    result.histogram[bin] = static_cast<double>(counts_[bin]) /
                            (count * static_cast<double>(shape_.NumValues()));
  }
  const int64_t pairs = NumNeighbors(shape_);
  result.roughness = difference_sum_ /
                     (count * static_cast<double>(std::max<int64_t>(1, pairs)));
  return result;
}

absl::StatusOr<SampleDistance> ComputeSampleDistance(
    const PixelStatistics& real, const PixelStatistics& generated) {
  if (real.shape != generated.shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "real images of ", real.shape.channels, " x ", real.shape.height, " x ",
        real.shape.width, " cannot be compared with generated ones of ",
        generated.shape.channels, " x ", generated.shape.height, " x ",
        generated.shape.width));
  }
  const double variance = real.coarse.covariance_DD.trace().item<double>();
  if (!(variance > 1e-9)) {
    return absl::InvalidArgumentError(
        "the real images are all the same: there is nothing to compare with");
  }
  SampleDistance distance;
  GANDEM_ASSIGN_OR_RETURN(const double structure,
                          FrechetDistance(real.coarse, generated.coarse));
  distance.structure = structure / variance;
  for (int bin = 0; bin < PixelStatistics::kBins; ++bin) {
    distance.histogram +=
        std::abs(real.histogram[bin] - generated.histogram[bin]) / 2.0;
  }
  const double sum = real.roughness + generated.roughness;
  if (sum > 0) {
    distance.roughness = std::abs(real.roughness - generated.roughness) / sum;
  }
  return distance;
}

}  // namespace gandem
