// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evaluation/images/derived_images.h"
#include "models/torch.h"
#include "tests/evaluation/images/numbered_images.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::NumberedImages;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Le;

TEST(PairedImagesTest, EachImageIsInOnePairAtMost) {
  ASSERT_OK_AND_ASSIGN(
      const auto pairs,
      PairsOf(std::make_unique<NumberedImages>(101, /*side=*/2)));
  ASSERT_EQ(pairs->size(), 50);
  EXPECT_EQ(pairs->shape().channels, 1);
  ASSERT_OK_AND_ASSIGN(const at::Tensor all,
                       pairs->Read({.first = 0, .count = 50}));
  ASSERT_EQ(all.sizes(), at::IntArrayRef({50, 2, 2, 2}));
  std::vector<int> uses(102);
  int64_t near = 0;
  for (int64_t i = 0; i < 50; ++i) {
    const int a = all[i][0][0][0].item<int>();
    const int b = all[i][1][0][0].item<int>();
    for (const auto& [image, first] : {std::pair(0, a), std::pair(1, b)}) {
      EXPECT_TRUE(all[i][image].flatten().equal(
          torch::arange(first, first + 4).to(at::kByte)));
    }
    EXPECT_EQ(pairs->NameOf(i), absl::StrCat(a, ".png beside ", b, ".png"));
    ++uses[a];
    ++uses[b];
    near += std::abs(a - b) <= 10;
  }
  EXPECT_THAT(uses, ::testing::Each(Le(1)));
  // 19 % of pairs drawn at random are near.
  EXPECT_THAT(near, Le(20));
  // Pairs do not depend on the range.
  ASSERT_OK_AND_ASSIGN(const at::Tensor some,
                       pairs->Read({.first = 7, .count = 3}));
  EXPECT_TRUE(some.equal(all.narrow(0, 7, 3)));
  EXPECT_NE(pairs->Describe()->sha256(), "all");
}

TEST(PairedImagesTest, GeneratedImagesArePairedInOrder) {
  ASSERT_OK_AND_ASSIGN(const auto pairs,
                       PairsOf(std::make_unique<NumberedImages>(
                           std::numeric_limits<int64_t>::max(), /*side=*/2)));
  EXPECT_EQ(pairs->size(), std::numeric_limits<int64_t>::max());
  ASSERT_OK_AND_ASSIGN(const at::Tensor some,
                       pairs->Read({.first = 3, .count = 2}));
  EXPECT_TRUE(some.flatten().equal(torch::tensor(
      {6, 7, 8, 9, 7, 8, 9, 10, 8, 9, 10, 11, 9, 10, 11, 12}, at::kByte)));
}

TEST(PairedImagesTest, SetsWithoutPairs) {
  EXPECT_THAT(PairsOf(std::make_unique<NumberedImages>(1)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a pair needs two images")));
  EXPECT_THAT(PairsOf(std::make_unique<NumberedImages>(9, /*side=*/0)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of several sizes")));
}

}  // namespace
}  // namespace gandem
