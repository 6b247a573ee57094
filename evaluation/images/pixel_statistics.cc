// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/pixel_statistics.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/png.h"

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

double Trace(const SquareMatrix& m) {
  double sum = 0;
  for (int64_t i = 0; i < m.size; ++i) sum += m.at(i, i);
  return sum;
}

// sqrt of an eigenvalue that only rounding makes negative.
double Root(double eigenvalue) { return std::sqrt(std::max(0.0, eigenvalue)); }

SquareMatrix Multiply(const SquareMatrix& a, const SquareMatrix& b) {
  SquareMatrix product(a.size);
  for (int64_t i = 0; i < a.size; ++i) {
    for (int64_t k = 0; k < a.size; ++k) {
      for (int64_t j = 0; j < a.size; ++j) {
        product.at(i, j) += a.at(i, k) * b.at(k, j);
      }
    }
  }
  return product;
}

// The symmetric root of a covariance matrix.
SquareMatrix MatrixRoot(const SquareMatrix& m) {
  const EigenDecomposition eigen = SymmetricEigen(m);
  SquareMatrix scaled(m.size);  // roots * transposed vectors
  for (int64_t i = 0; i < m.size; ++i) {
    for (int64_t j = 0; j < m.size; ++j) {
      scaled.at(i, j) = Root(eigen.values[i]) * eigen.vectors.at(j, i);
    }
  }
  return Multiply(eigen.vectors, scaled);
}

// Frechet distance of two Gaussians, squared (Dowson and Landau 1982, eq. 4):
// |m1 - m2|^2 + tr(C1 + C2 - 2 (C1^1/2 C2 C1^1/2)^1/2).
double SquaredFrechetDistance(const PixelStatistics& a,
                              const PixelStatistics& b) {
  double distance = Trace(a.covariance) + Trace(b.covariance);
  for (size_t i = 0; i < a.mean.size(); ++i) {
    distance += (a.mean[i] - b.mean[i]) * (a.mean[i] - b.mean[i]);
  }
  const SquareMatrix root = MatrixRoot(a.covariance);
  const EigenDecomposition eigen =
      SymmetricEigen(Multiply(Multiply(root, b.covariance), root));
  for (const double value : eigen.values) distance -= 2.0 * Root(value);
  return std::max(0.0, distance);
}

}  // namespace

PixelAccumulator::PixelAccumulator(ImageShape shape)
    : shape_(shape),
      coarse_(CoarseShape(shape)),
      resampler_(shape, coarse_),
      sum_(coarse_.NumValues()),
      product_sum_(coarse_.NumValues()) {}

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
  const int64_t n = coarse_.NumValues();
  for (int64_t i = 0; i < n; ++i) {
    const double x = coarse[i];
    sum_[i] += x;
    double* row = &product_sum_.at(i, 0);
    for (int64_t j = i; j < n; ++j) row[j] += x * coarse[j];
  }
  ++num_images_;
}

absl::StatusOr<PixelStatistics> PixelAccumulator::Finish() const {
  if (num_images_ < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a covariance needs at least 2 images, there are ", num_images_));
  }
  const auto count = static_cast<double>(num_images_);
  const int64_t n = coarse_.NumValues();
  PixelStatistics result = {.num_images = num_images_, .shape = shape_};
  for (const double sum : sum_) result.mean.push_back(sum / count);
  result.covariance = SquareMatrix(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j) {
      const double covariance =
          (product_sum_.at(i, j) - sum_[i] * result.mean[j]) / (count - 1);
      result.covariance.at(i, j) = result.covariance.at(j, i) = covariance;
    }
  }
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
  const double variance = Trace(real.covariance);
  if (!(variance > 1e-9)) {
    return absl::InvalidArgumentError(
        "the real images are all the same: there is nothing to compare with");
  }
  SampleDistance distance;
  distance.structure = SquaredFrechetDistance(real, generated) / variance;
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
