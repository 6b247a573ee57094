// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/sample_noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/philox.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Below this sine of their angle, the path between two ends is a line.
constexpr double kMinSine = 1e-6;

// At the lower bound one value takes more than a hundred draws on average.
constexpr double kMinTruncation = 0.01;
constexpr double kMaxTruncation = 7;
constexpr double kMaxScale = 10;
// Negative values make the opposite of the images of positive ones.
constexpr double kMaxPsi = 2;

at::Tensor Slerp(const at::Tensor& a, const at::Tensor& b, double t) {
  const double cosine = (a.dot(b) / (a.norm() * b.norm())).item<double>();
  const double angle = std::acos(std::clamp(cosine, -1.0, 1.0));
  const double sine = std::sin(angle);
  if (sine < kMinSine) return a * (1 - t) + b * t;
  return a * (std::sin((1 - t) * angle) / sine) +
         b * (std::sin(t * angle) / sine);
}

}  // namespace

at::Tensor SampleNoise(uint64_t seed, const NoiseOptions& options,
                       int64_t noise_dim, IndexRange range) {
  const double truncation = options.truncation;
  const at::Tensor noise_NZ = torch::empty({range.count, noise_dim});
  float* value = noise_NZ.mutable_data_ptr<float>();
  for (int64_t i = range.first; i < range.end(); ++i) {
    PhiloxStream stream(seed, Purpose::kSample, 0, static_cast<uint64_t>(i));
    for (int64_t k = 0; k < noise_dim; ++k, ++value) {
      do {
        *value = static_cast<float>(stream.NextNormal());
      } while (truncation > 0 && std::abs(*value) > truncation);
      if (options.scale != 1) *value *= static_cast<float>(options.scale);
    }
  }
  return noise_NZ;
}

void CheckNoise(const NoiseOptions& options, Faults& faults) {
  faults.CheckPositive("noise_scale", options.scale, kMaxScale);
  faults.CheckRange("truncation_psi", options.psi, -kMaxPsi, kMaxPsi);
  if (options.truncation == 0) return;
  faults.CheckRange("truncation", options.truncation, kMinTruncation,
                    kMaxTruncation);
}

at::Tensor InterpolatedNoise(uint64_t seed, const NoiseOptions& options,
                             int64_t noise_dim, int64_t rows, int64_t steps) {
  const at::Tensor ends =
      SampleNoise(seed, options, noise_dim, {.first = 0, .count = 2 * rows})
          .to(at::kDouble);
  std::vector<at::Tensor> noise;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t step = 0; step < steps; ++step) {
      const double t =
          static_cast<double>(step) / static_cast<double>(steps - 1);
      noise.push_back(Slerp(ends[2 * row], ends[2 * row + 1], t));
    }
  }
  return at::stack(noise).to(at::kFloat);
}

at::Tensor PathNoise(uint64_t seed, const NoiseOptions& options,
                     int64_t noise_dim, IndexRange range, double epsilon) {
  const at::Tensor ends =
      SampleNoise(seed, options, noise_dim,
                  {.first = 2 * range.first, .count = 2 * range.count})
          .to(at::kDouble);
  std::vector<at::Tensor> from;
  std::vector<at::Tensor> to;
  for (int64_t row = 0; row < range.count; ++row) {
    PhiloxStream stream(seed, Purpose::kResampling, /*step=*/0,
                        static_cast<uint64_t>(range.first + row));
    const double t = stream.NextUniform();
    const at::Tensor& a = ends[2 * row];
    const at::Tensor& b = ends[2 * row + 1];
    from.push_back(Slerp(a, b, t));
    to.push_back(Slerp(a, b, t + epsilon));
  }
  return at::stack({at::stack(from), at::stack(to)});
}

}  // namespace gandem
