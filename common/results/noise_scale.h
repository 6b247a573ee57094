// SPDX-License-Identifier: Apache-2.0
//
// Estimates the gradient noise scale: the largest useful batch size.
//
// McCandlish, Kaplan, Amodei et al. 2018, "An Empirical Model of Large-Batch
// Training", equation 2.9: B_simple = tr(Sigma) / |G|^2, with the mean gradient
// G and the covariance Sigma of an image's gradient. A batch of B_simple images
// needs about twice the images of a tiny one and twice the steps of a huge one
// (equation 2.11). Estimator (appendix A.1): the squared norm of a mean
// gradient over B images is |G|^2 + tr(Sigma) / B on average, so two sizes of B
// give both without bias. Numerator and denominator are averaged separately,
// because a mean of noisy ratios is biased. The interval is Fieller's for a
// ratio of means (1954, "Some problems in interval estimation").
//
// Owner: the reader of measurements. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace gandem {

// Squared L2 norms of mean gradients over parts of a batch and over the batch.
struct GradientSquares {
  double small_images = 0;  // of a part; above 0
  double large_images = 0;  // above small_images
  double small_square = 0;  // mean over the parts
  double large_square = 0;
};

// Unbiased estimates of |G|^2 and tr(Sigma); may be negative.
struct SignalAndNoise {
  double signal = 0;
  double noise = 0;
};
SignalAndNoise SignalAndNoiseOf(const GradientSquares& squares);

struct NoiseScale {
  double images = 0;  // infinity: noise hides the gradient
  // 95 % confidence interval; high may be infinity.
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  int64_t rounds = 0;  // measured rounds
};

class NoiseScaleEstimator {
 public:
  // Minimum number of measured rounds for an interval.
  static constexpr int64_t kLeastRounds = 5;

  // Adds one measurement from the workers of a fleet in one round. `workers` is
  // not empty, and all have the same whole batch.
  void AddRound(std::span<const GradientSquares> workers);

  // Returns nothing after too few rounds or without noise.
  std::optional<NoiseScale> Get() const;

 private:
  int64_t rounds_ = 0;
  double signal_ = 0;
  double noise_ = 0;
  double signal_signal_ = 0;
  double noise_noise_ = 0;
  double signal_noise_ = 0;
};

}  // namespace gandem
