// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "evaluation/images/derived_images.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

// Two images of 12 x 12: a checkerboard of 0 and 200, and its negative.
class Checkerboards : public ImageSet {
 public:
  int64_t size() const override { return 2; }
  ImageShape shape() const override {
    return {.channels = 1, .height = 12, .width = 12};
  }
  absl::StatusOr<ImagesCard> Describe() const override {
    ImagesCard card;
    card.set_sha256("inner");
    card.set_fit("pad to 12 x 12");
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    const at::Tensor i = torch::arange(12);
    const at::Tensor first = (i.view({12, 1}) + i).remainder(2) * 200;
    return at::stack({first, 200 - first})
        .unsqueeze(1)
        .narrow(0, range.first, range.count)
        .to(at::kByte);
  }
};

absl::StatusOr<std::unique_ptr<ImageSet>> Resized(const std::string& kernel,
                                                  int64_t size) {
  ImagesSpec::Resize spec;
  spec.set_kernel(kernel);
  spec.set_height(size);
  spec.set_width(size);
  return ResizeImages(std::make_unique<Checkerboards>(), spec);
}

at::Tensor SecondImage(const std::string& kernel, int64_t size) {
  const auto images = *Resized(kernel, size);
  return *images->Read({.first = 1, .count = 1});
}

TEST(ResizedImagesTest, HalfTheSizeIsTheMeanOfFourPixels) {
  const at::Tensor gray = torch::full({1, 1, 6, 6}, 100, at::kByte);
  for (const char* kernel : {"area", "bilinear"}) {
    EXPECT_TRUE(at::equal(SecondImage(kernel, 6), gray)) << kernel;
  }
}

// At a third of the size bilinear sees every third pixel and no others.
TEST(ResizedImagesTest, OnlyBilinearAliases) {
  const at::Tensor sampled = SecondImage("bilinear", 4);
  EXPECT_EQ(sampled.min().item<int64_t>(), 0);
  EXPECT_EQ(sampled.max().item<int64_t>(), 200);
  for (const char* kernel : {"area", "bicubic"}) {
    const at::Tensor smoothed = SecondImage(kernel, 4);
    EXPECT_GE(smoothed.min().item<int64_t>(), 80) << kernel;
    EXPECT_LE(smoothed.max().item<int64_t>(), 120) << kernel;
  }
}

TEST(ResizedImagesTest, GrowingStaysInRange) {
  for (const char* kernel : {"area", "bilinear", "bicubic"}) {
    const at::Tensor large = SecondImage(kernel, 25);
    EXPECT_EQ(large.sizes(), (at::IntArrayRef{1, 1, 25, 25}));
    EXPECT_EQ(large.scalar_type(), at::kByte);
    // The corner is that of the source: 200.
    EXPECT_NEAR(large[0][0][0][0].item<int64_t>(), 200, 40) << kernel;
  }
}

TEST(ResizedImagesTest, TheCardNamesTheKernel) {
  ASSERT_OK_AND_ASSIGN(const auto area, Resized("area", 2));
  ASSERT_OK_AND_ASSIGN(const ImagesCard card, area->Describe());
  EXPECT_EQ(card.fit(), "pad to 12 x 12, area to 2 x 2");
  EXPECT_EQ(card.height(), 2);
  ASSERT_OK_AND_ASSIGN(const auto bilinear, Resized("bilinear", 2));
  EXPECT_NE(card.sha256(), bilinear->Describe()->sha256());
}

TEST(ResizedImagesTest, UnknownKernelsAndSizesAreRefused) {
  EXPECT_THAT(Resized("lanczos", 2).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'lanczos' is none of area, bilinear")));
  EXPECT_THAT(
      Resized("area", 0).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("height 0")));
}

}  // namespace
}  // namespace gandem
