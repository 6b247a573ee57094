// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/feature_compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

TEST(FeatureComputeTest, PrecisionsByTheirNames) {
  for (const char* text : {"float32", "bfloat16", "float16"}) {
    ASSERT_OK_AND_ASSIGN(const at::ScalarType precision, ParsePrecision(text));
    EXPECT_EQ(PrecisionText(precision), text);
  }
  ASSERT_OK_AND_ASSIGN(const at::ScalarType precision, ParsePrecision(""));
  EXPECT_EQ(precision, at::kFloat);
  EXPECT_THAT(ParsePrecision("int8").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none of float32, bfloat16, float16")));
}

TEST(FeatureComputeTest, CardsSayWhatIsNotTheUsualWay) {
  EXPECT_EQ(ComputeText({}), "");
  EXPECT_EQ(ComputeText({.precision = at::kHalf}), "float16");
  EXPECT_EQ(ComputeText({.device = at::Device("cuda:1")}), "float32 on cuda");
  EXPECT_EQ(
      ComputeText({.device = at::Device("cuda:0"), .precision = at::kBFloat16}),
      "bfloat16 on cuda");
}

}  // namespace
}  // namespace gandem
