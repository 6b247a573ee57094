// SPDX-License-Identifier: Apache-2.0
#include "common/results/noise_scale.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace gandem {
namespace {

// The loss of an image x is 1/2 (theta - x)' H (theta - x), H =
// diag(kCurvature), x ~ N(0, diag(kSpread^2)): its gradient is H (theta - x).
// In closed form |G|^2 = |H theta|^2, tr(Sigma) = sum (h s)^2.
constexpr int kDim = 20;

class Quadratic {
 public:
  explicit Quadratic(uint64_t seed) : random_(seed) {
    for (int i = 0; i < kDim; ++i) {
      curvature_[i] = 1 + 0.2 * i;
      spread_[i] = 2.0 / (1 + i % 3);
      theta_[i] = i % 2 == 0 ? 0.3 : -0.2;
    }
  }
  double signal() const {
    double sum = 0;
    for (int i = 0; i < kDim; ++i) {
      sum += std::pow(curvature_[i] * theta_[i], 2);
    }
    return sum;
  }
  double noise() const {
    double sum = 0;
    for (int i = 0; i < kDim; ++i) {
      sum += std::pow(curvature_[i] * spread_[i], 2);
    }
    return sum;
  }
  double scale() const { return noise() / signal(); }

  // Splits a batch equally among `workers`, each with `pieces` micro-batches.
  // Returns what each worker measures: over the fleet (one piece) or over its
  // own micro-batches.
  std::vector<GradientSquares> Measure(int batch, int workers, int pieces) {
    using Vector = std::array<double, kDim>;
    const int part = batch / (workers * pieces);
    const auto square = [](const Vector& sum, double count) {
      double result = 0;
      for (const double x : sum) result += std::pow(x / count, 2);
      return result;
    };
    Vector whole = {};
    std::vector<GradientSquares> found;
    for (int worker = 0; worker < workers; ++worker) {
      Vector own = {};
      double small_square = 0;
      for (int piece = 0; piece < pieces; ++piece) {
        Vector sum = {};
        for (int image = 0; image < part; ++image) AddGradient(sum);
        small_square += square(sum, part) / pieces;
        for (int i = 0; i < kDim; ++i) own[i] += sum[i];
      }
      for (int i = 0; i < kDim; ++i) whole[i] += own[i];
      found.push_back({.small_images = static_cast<double>(part),
                       .large_images = static_cast<double>(part * pieces),
                       .small_square = small_square,
                       .large_square = square(own, part * pieces)});
    }
    if (pieces > 1) return found;
    for (GradientSquares& squares : found) {
      squares.large_images = batch;
      squares.large_square = square(whole, batch);
    }
    return found;
  }

 private:
  void AddGradient(std::array<double, kDim>& sum) {
    for (int i = 0; i < kDim; ++i) {
      sum[i] += curvature_[i] * (theta_[i] - spread_[i] * normal_(random_));
    }
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::array<double, kDim> curvature_ = {};
  std::array<double, kDim> spread_ = {};
  std::array<double, kDim> theta_ = {};
};

NoiseScale Estimate(Quadratic& problem, int rounds, int batch, int workers,
                    int pieces) {
  NoiseScaleEstimator estimator;
  for (int i = 0; i < rounds; ++i) {
    estimator.AddRound(problem.Measure(batch, workers, pieces));
  }
  const auto scale = estimator.Get();
  EXPECT_TRUE(scale.has_value());
  return scale.value_or(NoiseScale());
}

TEST(NoiseScaleTest, AgreesWithTheClosedFormForAnyNumberOfWorkers) {
  Quadratic problem(1);
  EXPECT_NEAR(problem.scale(), 29, 1);  // images: about the size of a batch
  for (const auto& [workers, pieces] : std::vector<std::pair<int, int>>{
           {1, 2}, {1, 8}, {2, 1}, {4, 1}, {8, 1}, {2, 4}, {4, 2}}) {
    const NoiseScale scale = Estimate(problem, 1500, 64, workers, pieces);
    EXPECT_NEAR(scale.images, problem.scale(), 0.1 * problem.scale())
        << workers << " workers with " << pieces << " pieces";
    EXPECT_LT(scale.low, scale.images);
    EXPECT_GT(scale.high, scale.images);
    EXPECT_LT(scale.high - scale.low, 0.4 * problem.scale());
  }
}

// On average 10 of 200 intervals of 95 % miss; 20 are too many by three
// standard deviations.
TEST(NoiseScaleTest, TheIntervalCoversTheTruthAtTheStatedRate) {
  Quadratic problem(2);
  int misses = 0;
  for (int run = 0; run < 200; ++run) {
    const NoiseScale scale = Estimate(problem, 30, 64, 4, 1);
    if (problem.scale() < scale.low || problem.scale() > scale.high) ++misses;
  }
  EXPECT_LE(misses, 20);
  EXPECT_GE(misses, 1);
}

TEST(NoiseScaleTest, EachMeasurementIsUnbiased) {
  Quadratic problem(3);
  double signal = 0;
  double noise = 0;
  constexpr int kRounds = 4000;
  for (int i = 0; i < kRounds; ++i) {
    const SignalAndNoise one =
        SignalAndNoiseOf(problem.Measure(32, 1, 4).front());
    signal += one.signal / kRounds;
    noise += one.noise / kRounds;
  }
  EXPECT_NEAR(signal, problem.signal(), 0.05 * problem.signal());
  EXPECT_NEAR(noise, problem.noise(), 0.02 * problem.noise());
}

TEST(NoiseScaleTest, ValuesMatchThoseComputedByHand) {
  // |G|^2 = 3 and tr(Sigma) = 8: 3 + 8 / 2 and 3 + 8 / 4.
  const GradientSquares squares = {.small_images = 2,
                                   .large_images = 4,
                                   .small_square = 7,
                                   .large_square = 5};
  EXPECT_DOUBLE_EQ(SignalAndNoiseOf(squares).signal, 3);
  EXPECT_DOUBLE_EQ(SignalAndNoiseOf(squares).noise, 8);
  NoiseScaleEstimator estimator;
  for (int i = 0; i < NoiseScaleEstimator::kLeastRounds; ++i) {
    EXPECT_FALSE(estimator.Get().has_value());
    estimator.AddRound({&squares, 1});
  }
  const auto scale = estimator.Get();
  ASSERT_TRUE(scale.has_value());
  EXPECT_DOUBLE_EQ(scale->images, 8.0 / 3);
  EXPECT_NEAR(scale->low, 8.0 / 3, 1e-6);
  EXPECT_NEAR(scale->high, 8.0 / 3, 1e-6);
  EXPECT_EQ(scale->rounds, 5);
}

// At a minimum the gradient is only noise: no batch is too large.
TEST(NoiseScaleTest, WithoutAGradientThereIsNoUpperBound) {
  NoiseScaleEstimator estimator;
  for (const double large : {4.9, 5.1, 5.0, 4.8, 5.2, 5.0}) {
    const GradientSquares squares = {.small_images = 1,
                                     .large_images = 2,
                                     .small_square = 10,
                                     .large_square = large};
    estimator.AddRound({&squares, 1});
  }
  const auto scale = estimator.Get();
  ASSERT_TRUE(scale.has_value());
  EXPECT_TRUE(std::isinf(scale->high));
  EXPECT_GT(scale->low, 10);
}

}  // namespace
}  // namespace gandem
