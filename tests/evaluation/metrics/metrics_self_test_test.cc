// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/metrics_self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <tuple>

#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What LibTorch calls instead of its own kernel while a test's torch::Library
// lives: right for small matrices, and wrong by little for large ones.
at::Tensor WrongProduct(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor product = (a.unsqueeze(2) * b.unsqueeze(0)).sum(1);
  if (product.numel() > 1000) product[-1][-1] += 1e-6;
  return product;
}

std::tuple<at::Tensor, at::Tensor> WrongEigen(const at::Tensor& matrix,
                                              c10::string_view, bool) {
  auto [u, s, vh] = at::_linalg_svd(matrix);
  return {s.flip(0) * (1 + 1e-6), u.flip(1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> WrongSingularValues(
    const at::Tensor& matrix, bool, bool, std::optional<c10::string_view>) {
  const auto [values, vectors] = at::linalg_eigh(matrix.t().mm(matrix));
  return {vectors, values.clamp_min(0).sqrt() * (1 + 1e-6), vectors.t()};
}

template <typename Kernel>
absl::Status SelfTestWith(const char* name, Kernel* kernel) {
  torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU,
                         __FILE__, __LINE__);
  library.impl(name, kernel);
  return MetricsSelfTest();
}

TEST(MetricsSelfTestTest, Passes) {
  EXPECT_OK(MetricsSelfTest());
  EXPECT_OK(MetricsSelfTest());
}

TEST(MetricsSelfTestTest, CatchesAWrongProduct) {
  EXPECT_THAT(SelfTestWith("mm", WrongProduct),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("matrix product is 1e-06, not 0"),
                             HasSubstr("do not trust"))));
  EXPECT_OK(MetricsSelfTest());  // it is over
}

TEST(MetricsSelfTestTest, CatchesWrongEigenvalues) {
  EXPECT_THAT(SelfTestWith("_linalg_eigh", WrongEigen),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("distance of commuting covariances")));
}

TEST(MetricsSelfTestTest, CatchesWrongSingularValues) {
  EXPECT_THAT(SelfTestWith("_linalg_svd", WrongSingularValues),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("set and three times it")));
}

}  // namespace
}  // namespace gandem
