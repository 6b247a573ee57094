// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
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

constexpr int64_t kNumbered = 200;

absl::StatusOr<std::unique_ptr<ImageSet>> Subset(int64_t count, uint64_t seed) {
  ImagesSpec::Subset spec;
  spec.set_count(count);
  spec.set_seed(seed);
  return SubsetOf(std::make_unique<NumberedImages>(kNumbered), spec);
}

std::vector<int> Chosen(ImageSet& images) {
  const at::Tensor all_NCHW =
      *images.Read({.first = 0, .count = images.size()});
  std::vector<int> chosen;
  for (int64_t i = 0; i < images.size(); ++i) {
    chosen.push_back(all_NCHW[i].item<int>());
  }
  return chosen;
}

TEST(SubsetImagesTest, DrawsFromAllOfThemOnce) {
  ASSERT_OK_AND_ASSIGN(const auto images, Subset(50, 0));
  ASSERT_EQ(images->size(), 50);
  const std::vector<int> chosen = Chosen(*images);
  EXPECT_EQ(std::set<int>(chosen.begin(), chosen.end()).size(), 50u);
  EXPECT_TRUE(std::ranges::is_sorted(chosen));
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(images->NameOf(i), absl::StrCat(chosen[i], ".png"));
  }
  // 25 of the second half are expected; the first 50 images have none.
  const auto second_half = std::ranges::count_if(
      chosen, [](int image) { return image >= kNumbered / 2; });
  EXPECT_GT(second_half, 12);
  EXPECT_LT(second_half, 38);
}

TEST(SubsetImagesTest, TheSameOnesEachTime) {
  const auto first = *Subset(50, 0);
  const auto again = *Subset(50, 0);
  const auto other = *Subset(50, 1);
  EXPECT_EQ(Chosen(*first), Chosen(*again));
  EXPECT_NE(Chosen(*first), Chosen(*other));
  EXPECT_EQ(first->Describe()->sha256(), again->Describe()->sha256());
  EXPECT_NE(first->Describe()->sha256(), other->Describe()->sha256());
  EXPECT_NE(first->Describe()->sha256(),
            (*Subset(49, 0))->Describe()->sha256());
}

TEST(SubsetImagesTest, MoreThanThereAre) {
  EXPECT_EQ((*Subset(kNumbered, 0))->size(), kNumbered);
  for (const int64_t count : {int64_t{0}, kNumbered + 1}) {
    EXPECT_THAT(Subset(count, 0), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("[1, 200]")));
  }
}

}  // namespace
}  // namespace gandem
