// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/paired_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Le;

// Image i has the two pixels i and i + 1.
class CountedImages : public ImageSet {
 public:
  explicit CountedImages(int64_t size, int64_t width = 2)
      : size_(size), width_(width) {}

  int64_t size() const override { return size_; }
  ImageShape shape() const override {
    return {.channels = 1, .height = width_ / 2, .width = width_};
  }
  absl::StatusOr<ImagesCard> Describe() const override {
    ImagesCard card;
    card.set_sha256("all");
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    const at::Tensor first_N = torch::arange(range.first, range.end());
    return at::stack({first_N, first_N + 1}, 1)
        .to(at::kByte)
        .view({-1, 1, 1, 2});
  }

 private:
  const int64_t size_;
  const int64_t width_;
};

TEST(PairedImagesTest, EachImageIsInOnePairAtMost) {
  ASSERT_OK_AND_ASSIGN(const auto pairs,
                       PairsOf(std::make_unique<CountedImages>(101)));
  ASSERT_EQ(pairs->size(), 50);
  EXPECT_EQ(pairs->shape().channels, 1);
  ASSERT_OK_AND_ASSIGN(const at::Tensor all,
                       pairs->Read({.first = 0, .count = 50}));
  ASSERT_EQ(all.sizes(), at::IntArrayRef({50, 2, 1, 2}));
  std::vector<int> uses(102);
  int64_t near = 0;
  for (int64_t i = 0; i < 50; ++i) {
    const int a = all[i][0][0][0].item<int>();
    const int b = all[i][1][0][0].item<int>();
    EXPECT_EQ(all[i][0][0][1].item<int>(), a + 1);
    EXPECT_EQ(pairs->NameOf(i), absl::StrCat("image ", a, " beside image ", b));
    ++uses[a];
    ++uses[b];
    near += std::abs(a - b) <= 10;
  }
  EXPECT_THAT(uses, ::testing::Each(Le(1)));
  // 19 % of pairs drawn at random.
  EXPECT_THAT(near, Le(20));
  // Whoever reads, and however many.
  ASSERT_OK_AND_ASSIGN(const at::Tensor some,
                       pairs->Read({.first = 7, .count = 3}));
  EXPECT_TRUE(some.equal(all.narrow(0, 7, 3)));
  EXPECT_NE(pairs->Describe()->sha256(), "all");
}

TEST(PairedImagesTest, OfWhatIsDrawnAlreadyInOrder) {
  ASSERT_OK_AND_ASSIGN(const auto pairs,
                       PairsOf(std::make_unique<CountedImages>(
                           std::numeric_limits<int64_t>::max())));
  EXPECT_EQ(pairs->size(), std::numeric_limits<int64_t>::max());
  ASSERT_OK_AND_ASSIGN(const at::Tensor some,
                       pairs->Read({.first = 3, .count = 2}));
  EXPECT_TRUE(some.flatten().equal(
      torch::tensor({6, 7, 7, 8, 8, 9, 9, 10}, at::kByte)));
}

TEST(PairedImagesTest, WhatHasNoPairs) {
  EXPECT_THAT(PairsOf(std::make_unique<CountedImages>(1)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a pair needs two images")));
  EXPECT_THAT(PairsOf(std::make_unique<CountedImages>(9, /*width=*/0)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of several sizes")));
}

}  // namespace
}  // namespace gandem
