// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/precision_recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

PrecisionRecall Compute(const at::Tensor& reference_ND,
                        const at::Tensor& generated_MD,
                        const PrecisionRecallOptions& options = {}) {
  const auto result =
      ComputePrecisionRecall(reference_ND, generated_MD, options);
  EXPECT_OK(result);
  return *result;
}

// Computes the definitions pair by pair.
PrecisionRecall Directly(const at::Tensor& reference_ND,
                         const at::Tensor& generated_MD, int64_t k,
                         int64_t density_k) {
  const auto distances = [](const at::Tensor& x, const at::Tensor& y) {
    return (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(2).sqrt();
  };
  // Column 0 of the sorted distances is the row itself.
  const auto radii = [&](const at::Tensor& x, int64_t neighbors) {
    return std::get<0>(distances(x, x).sort(1)).select(1, neighbors);
  };
  const auto mean = [](const at::Tensor& flags) {
    return flags.to(at::kDouble).mean().item<double>();
  };
  const at::Tensor between_NM = distances(reference_ND, generated_MD);
  const at::Tensor inside_NM =
      between_NM < radii(reference_ND, density_k).unsqueeze(1);
  return {.precision =
              mean((between_NM <= radii(reference_ND, k).unsqueeze(1)).any(0)),
          .recall = mean((between_NM <= radii(generated_MD, k)).any(1)),
          .density = inside_NM.to(at::kDouble).sum(0).mean().item<double>() /
                     static_cast<double>(density_k),
          .coverage = mean(inside_NM.any(1))};
}

void ExpectPrecisionRecallEqual(const PrecisionRecall& a,
                                const PrecisionRecall& b) {
  EXPECT_DOUBLE_EQ(a.precision, b.precision);
  EXPECT_DOUBLE_EQ(a.recall, b.recall);
  EXPECT_DOUBLE_EQ(a.density, b.density);
  EXPECT_DOUBLE_EQ(a.coverage, b.coverage);
}

TEST(PrecisionRecallTest, EqualsTheDefinitions) {
  const at::Tensor x_ND = RandomNormal(150, 6, 1) + 3;
  const at::Tensor y_MD = RandomNormal(200, 6, 2) * 0.7 + 3.4;
  const PrecisionRecall result = Compute(x_ND, y_MD);
  ExpectPrecisionRecallEqual(result, Directly(x_ND, y_MD, 3, 5));
  EXPECT_GT(result.precision, result.recall);  // it has lost diversity
  ExpectPrecisionRecallEqual(
      Compute(x_ND, y_MD, {.neighbors = 7, .density_neighbors = 2}),
      Directly(x_ND, y_MD, 7, 2));
}

// 2200 x 2100 distances are more than one block.
TEST(PrecisionRecallTest, BlocksChangeNothing) {
  const at::Tensor x_ND = RandomNormal(2200, 2, 3);
  const at::Tensor y_MD = RandomNormal(2100, 2, 4) * 1.2;
  ExpectPrecisionRecallEqual(Compute(x_ND, y_MD), Directly(x_ND, y_MD, 3, 5));
}

TEST(PrecisionRecallTest, SetsFarApartHaveNothingInCommon) {
  const at::Tensor x_ND = RandomNormal(50, 3, 5);
  ExpectPrecisionRecallEqual(Compute(x_ND, x_ND + 1000), PrecisionRecall{});
}

TEST(PrecisionRecallTest, ASetAndItself) {
  // Each ball of k = 5 holds its center and 4 neighbors, the fifth is on it:
  // rounding must not put some of them inside.
  for (const auto& [rows, columns] :
       {std::pair(50, 3), std::pair(500, 64), std::pair(131, 512)}) {
    SCOPED_TRACE(rows);
    const at::Tensor x_ND = RandomNormal(rows, columns, 6) + 2;
    const PrecisionRecall result = Compute(x_ND, x_ND);
    EXPECT_EQ(result.precision, 1);
    EXPECT_EQ(result.recall, 1);
    EXPECT_EQ(result.coverage, 1);
    EXPECT_DOUBLE_EQ(result.density, 1);
  }
}

// A repeated image is precise, and covers only what is near it.
TEST(PrecisionRecallTest, CollapsedSet) {
  const at::Tensor x_ND = RandomNormal(100, 3, 7);
  const PrecisionRecall result =
      Compute(x_ND, x_ND.slice(0, 0, 1).repeat({60, 1}));
  EXPECT_EQ(result.precision, 1);
  EXPECT_LE(result.recall, 0.01);
  EXPECT_LT(result.coverage, 0.2);
}

TEST(PrecisionRecallTest, BadInput) {
  const at::Tensor x_ND = RandomNormal(5, 3, 8);
  EXPECT_THAT(
      ComputePrecisionRecall(x_ND, x_ND),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("N >= 6")));
  EXPECT_OK(ComputePrecisionRecall(x_ND, x_ND, {.density_neighbors = 4}));
  EXPECT_THAT(ComputePrecisionRecall(x_ND, x_ND, {.neighbors = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ComputePrecisionRecall(RandomNormal(9, 3, 8), x_ND / 0,
                                     {.density_neighbors = 4}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("generated")));
}

}  // namespace
}  // namespace gandem
