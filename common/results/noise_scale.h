// SPDX-License-Identifier: Apache-2.0
//
// The gradient noise scale: up to which batch size a larger batch pays off.
//
// McCandlish, Kaplan, Amodei et al. 2018, "An Empirical Model of Large-Batch
// Training", equation 2.9: B_simple = tr(Sigma) / |G|^2, G the mean gradient
// and Sigma the covariance of that of an image. A batch of B_simple images
// needs about twice the images of a tiny one, and twice the steps of a huge one
// (equation 2.11). Appendix A.1 has the estimator: the squared norm of a mean
// gradient over B images is |G|^2 + tr(Sigma) / B on average, so two sizes of B
// give both without bias. Both are noisy: numerator and denominator are
// averaged by themselves, because the mean of ratios is biased, and the
// interval is Fieller's (1954, "Some problems in interval estimation") for a
// ratio of means.
//
// Owner: whoever reads measurements. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace gandem {

// Squared L2 norms of mean gradients over parts of a batch and over the whole.
struct GradientSquares {
  double small_images = 0;  // of a part: above 0
  double large_images = 0;  // above small_images
  double small_square = 0;  // the mean over the parts
  double large_square = 0;
};

// Unbiased for |G|^2 and tr(Sigma); either may be below 0.
struct SignalAndNoise {
  double signal = 0;
  double noise = 0;
};
SignalAndNoise SignalAndNoiseOf(const GradientSquares& squares);

struct NoiseScale {
  double images = 0;  // infinity: no gradient is seen for noise
  // With 95 % confidence; high may be infinity.
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  int64_t rounds = 0;  // measured
};

class NoiseScaleEstimator {
 public:
  // Measurements below which there is no interval.
  static constexpr int64_t kLeastRounds = 5;

  // Adds the measurements of a fleet's workers in one round, at least one, each
  // against the same whole. They count as one measurement.
  void AddRound(std::span<const GradientSquares> workers);

  // None: too few rounds, or there is no noise.
  std::optional<NoiseScale> Get() const;

 private:
  // Sums over the rounds.
  int64_t rounds_ = 0;
  double signal_ = 0;
  double noise_ = 0;
  double signal_signal_ = 0;
  double noise_noise_ = 0;
  double signal_noise_ = 0;
};

}  // namespace gandem
