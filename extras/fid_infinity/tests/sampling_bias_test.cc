// SPDX-License-Identifier: Apache-2.0
#include "extras/fid_infinity/sampling_bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evaluation/metrics/feature_moments.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::RandomNormal;

// Eigenvalues that fall as k^-1, like those of a network's features.
std::vector<double> Spectrum(int64_t dim) {
  std::vector<double> values;
  for (int64_t k = 1; k <= dim; ++k) {
    values.push_back(10 / static_cast<double>(k));
  }
  return values;
}

// Mean distance of pairs of samples from the Gaussian with `spectrum`.
double MeasuredBias(const std::vector<double>& spectrum, int64_t n, int64_t m,
                    int64_t repetitions) {
  const at::Tensor roots = torch::tensor(spectrum, at::kDouble).sqrt();
  const auto dim = static_cast<int64_t>(spectrum.size());
  // PyTorch makes millions of numbers faster than Philox does.
  auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(n));
  const auto sample = [&](int64_t rows) {
    const auto moments =
        MomentsOf(torch::randn({rows, dim}, generator, at::kDouble) * roots);
    EXPECT_OK(moments);
    return *moments;
  };
  double sum = 0;
  for (int64_t i = 0; i < repetitions; ++i) {
    const auto distance = FrechetDistance(sample(n), sample(m));
    EXPECT_OK(distance);
    sum += *distance;
  }
  return sum / static_cast<double>(repetitions);
}

TEST(SamplingBiasTest, PredictsWhatSamplesOfOneGaussianMeasure) {
  const std::vector<double> spectrum = Spectrum(64);
  for (const int64_t n : {500, 1000, 2000, 4000, 8000}) {
    const double measured = MeasuredBias(spectrum, n, n, 8000 / n + 3);
    EXPECT_NEAR(PredictedSamplingBias(spectrum, n, n), measured,
                0.05 * measured)
        << n;
  }
}

// The covariance of a metric card's reference is itself that of a sample.
TEST(SamplingBiasTest, PredictsFromTheCovarianceOfASample) {
  const std::vector<double> spectrum = Spectrum(64);
  for (const int64_t n : {500, 2000, 8000}) {
    ASSERT_OK_AND_ASSIGN(
        const Moments sample,
        MomentsOf(RandomNormal(n, 64, 1) *
                  torch::tensor(spectrum, at::kDouble).sqrt()));
    ASSERT_OK_AND_ASSIGN(const FrechetReference reference,
                         FrechetReference::Create(sample));
    const double exact = PredictedSamplingBias(spectrum, n, n);
    EXPECT_NEAR(PredictedSamplingBias(reference.eigenvalues(), n, n, n), exact,
                0.02 * exact)
        << n;
    // The prediction is too low if `rows` does not say that it is a sample.
    EXPECT_LT(PredictedSamplingBias(reference.eigenvalues(), n, n), exact) << n;
  }
}

// A second-order approximation is far off with as many dimensions as rows.
TEST(SamplingBiasTest, FewerRowsThanDimensions) {
  const std::vector<double> spectrum = Spectrum(256);
  for (const auto& [n, m] :
       {std::pair{250, 250}, std::pair{100, 250}, std::pair{50, 1000}}) {
    const double measured = MeasuredBias(spectrum, n, m, 2);
    EXPECT_NEAR(PredictedSamplingBias(spectrum, n, m), measured,
                0.05 * measured)
        << n << " " << m;
  }
}

TEST(SamplingBiasTest, OneDimensionIsExactForManyRows) {
  // The means add (1/n + 1/m) s^2, the deviations s^2 (1/2n + 1/2m).
  const std::vector<double> one = {9};
  EXPECT_NEAR(PredictedSamplingBias(one, 1001, 2001),
              9 * (1.0 / 1001 + 1.0 / 2001 + 0.5 / 1000 + 0.5 / 2000),
              1e-3 * 9 * 2.25 / 1000);
}

// Expects the second-order sum over pairs of unequal eigenvalues.
TEST(SamplingBiasTest, ManyRowsGiveTheSecondOrder) {
  const std::vector<double> spectrum = {5, 1, 0.2, 1e-6};
  double pairs = 0;
  double trace = 0;
  for (const double a : spectrum) {
    trace += a;
    for (const double b : spectrum) pairs += a * b / (a + b) / 2;
  }
  constexpr int64_t kRows = 1'000'001;
  EXPECT_NEAR(PredictedSamplingBias(spectrum, kRows, 0) * 1e6,
              trace + pairs + trace / 4, 1e-4 * trace);
}

TEST(SamplingBiasTest, NoSampleNoBias) {
  EXPECT_EQ(PredictedSamplingBias(Spectrum(8), 0, 0), 0);
  EXPECT_EQ(PredictedSamplingBias({}, 10, 10), 0);
  const std::vector<double> zeros(5, 0.0);
  EXPECT_EQ(PredictedSamplingBias(zeros, 10, 10), 0);
}

TEST(SamplingBiasTest, IsSymmetricScalesAndIgnoresZeros) {
  std::vector<double> spectrum = Spectrum(30);
  const double bias = PredictedSamplingBias(spectrum, 50, 20);
  EXPECT_NEAR(PredictedSamplingBias(spectrum, 20, 50), bias, 1e-12 * bias);
  for (double& value : spectrum) value *= 1e6;
  EXPECT_NEAR(PredictedSamplingBias(spectrum, 50, 20), 1e6 * bias, 1e-6 * bias);
  spectrum.resize(60, 0.0);
  EXPECT_NEAR(PredictedSamplingBias(spectrum, 50, 20), 1e6 * bias, 1e-6 * bias);
}

// An evaluation knows only the eigenvalues of a sample, perhaps of fewer rows
// than dimensions. The golden is the Monte-Carlo experiment of
// tests/oracles/sampling_goldens.py.
TEST(SamplingBiasTest, PredictsWhatTheOracleMeasured) {
  const Golden golden("sampling.safetensors");
  const at::Tensor cases = golden.Get("bias");
  for (int64_t i = 0; i < cases.size(0); ++i) {
    const auto at = [&](int64_t column) {
      return cases[i][column].item<double>();
    };
    const auto n = static_cast<int64_t>(at(1));
    const auto m = static_cast<int64_t>(at(2));
    const double measured = at(4);
    const at::Tensor samples =
        golden.Get(absl::StrCat("eigenvalues.", i)).contiguous();
    double sum = 0;
    for (int64_t sample = 0; sample < samples.size(0); ++sample) {
      const at::Tensor row = samples[sample];
      sum += PredictedSamplingBias(
          {row.const_data_ptr<double>(), static_cast<size_t>(row.numel())}, n,
          m, m);
    }
    EXPECT_NEAR(sum / static_cast<double>(samples.size(0)), measured,
                0.035 * measured + 2 * at(5))
        << n << " " << m;
  }
}

}  // namespace
}  // namespace gandem
