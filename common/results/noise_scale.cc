// SPDX-License-Identifier: Apache-2.0
#include "common/results/noise_scale.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace gandem {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the 97.5 % quantile of Student's distribution: Cornish-Fisher
// expansion, Abramowitz and Stegun 1964, equation 26.7.5; within 2 % for four
// or more degrees of freedom.
double StudentQuantile(double degrees) {
  constexpr double z = 1.959963985;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * degrees) +
         (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

}  // namespace

SignalAndNoise SignalAndNoiseOf(const GradientSquares& squares) {
  GANDEM_CHECK(squares.small_images > 0 &&
               squares.large_images > squares.small_images);
  return {.signal = (squares.large_images * squares.large_square -
                     squares.small_images * squares.small_square) /
                    (squares.large_images - squares.small_images),
          .noise = (squares.small_square - squares.large_square) /
                   (1 / squares.small_images - 1 / squares.large_images)};
}

void NoiseScaleEstimator::AddRound(std::span<const GradientSquares> workers) {
  GANDEM_CHECK(!workers.empty());
  SignalAndNoise mean;
  for (const GradientSquares& squares : workers) {
    const SignalAndNoise one = SignalAndNoiseOf(squares);
    mean.signal += one.signal / static_cast<double>(workers.size());
    mean.noise += one.noise / static_cast<double>(workers.size());
  }
  ++rounds_;
  signal_ += mean.signal;
  noise_ += mean.noise;
  signal_signal_ += mean.signal * mean.signal;
  noise_noise_ += mean.noise * mean.noise;
  signal_noise_ += mean.signal * mean.noise;
}

std::optional<NoiseScale> NoiseScaleEstimator::Get() const {
  if (rounds_ < kLeastRounds || noise_ <= 0) return std::nullopt;
  const auto n = static_cast<double>(rounds_);
  const double signal = signal_ / n;
  const double noise = noise_ / n;
  // Covariances of the means, times t^2.
  const double t = StudentQuantile(n - 1);
  const double factor = t * t / (n - 1);
  const double ss = factor * (signal_signal_ / n - signal * signal);
  const double nn = factor * (noise_noise_ / n - noise * noise);
  const double sn = factor * (signal_noise_ / n - signal * noise);
  // Fieller: all r with (noise - r signal)^2 <= nn - 2 r sn + r^2 ss.
  const double a = signal * signal - ss;
  const double b = noise * signal - sn;
  const double c = noise * noise - nn;
  const double root = std::sqrt(std::max(0.0, b * b - a * c));
  NoiseScale scale = {.images = signal > 0 ? noise / signal : kInfinity,
                      .rounds = rounds_};
  scale.low = c > 0 && a != 0 ? std::max(0.0, (b - root) / a) : 0;
  scale.high = a > 0 && signal > 0 ? (b + root) / a : kInfinity;
  return scale;
}

}  // namespace gandem
