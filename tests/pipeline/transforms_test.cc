// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;

// A dataset of one image with given values and the label 5.
class OneImage : public Dataset {
 public:
  OneImage(ImageShape shape, std::vector<float> pixels)
      : shape_(shape), pixels_(std::move(pixels)) {}
  int64_t size() const override { return 1; }
  ImageShape shape() const override { return shape_; }
  absl::StatusOr<int64_t> Finish(int64_t, const StoredView& /*stored*/,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float> out) const override {
    std::copy(pixels_.begin(), pixels_.end(), out.begin());
    return 5;
  }
  absl::StatusOr<std::string> ContentHash() const override { return "one"; }

 private:
  ImageShape shape_;
  std::vector<float> pixels_;
};

class Unreadable : public OneImage {
 public:
  using OneImage::OneImage;
  absl::StatusOr<int64_t> Finish(int64_t, const StoredView& /*stored*/,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float>) const override {
    return absl::DataLossError("bad pixel");
  }
};

std::unique_ptr<Dataset> Image(ImageShape shape, std::vector<float> pixels) {
  return std::make_unique<OneImage>(shape, std::move(pixels));
}

TEST(JoinPairsTest, AJoinedPairHasTheChannelsOfBothAndTheLabelOfTheFirst) {
  const auto pairs =
      *JoinPairs(Image({.channels = 2, .height = 1, .width = 1}, {1, 2}),
                 Image({.channels = 1, .height = 1, .width = 1}, {3}));
  EXPECT_EQ(pairs->shape(),
            (ImageShape{.channels = 3, .height = 1, .width = 1}));
  EXPECT_EQ(pairs->size(), 1);
  std::vector<float> out(3);
  EXPECT_EQ(*pairs->Read(0, out), 5);
  EXPECT_THAT(out, ElementsAre(1, 2, 3));
  EXPECT_EQ(pairs->ContentHash()->size(), 64u);
}

TEST(JoinPairsTest, AFailureOfEitherIsReturned) {
  const ImageShape shape = {.channels = 1, .height = 1, .width = 1};
  const std::vector<float> pixel = {0};
  std::vector<float> out(2);
  EXPECT_THAT((*JoinPairs(std::make_unique<Unreadable>(shape, pixel),
                          Image(shape, pixel)))
                  ->Read(0, out),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT((*JoinPairs(Image(shape, pixel),
                          std::make_unique<Unreadable>(shape, pixel)))
                  ->Read(0, out),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(JoinPairsTest, BothAreReadWithTheSameSampleNumber) {
  class Drawn : public OneImage {
   public:
    using OneImage::OneImage;
    absl::StatusOr<int64_t> Finish(int64_t, const StoredView& /*stored*/,
                                   std::optional<SampleKey> key,
                                   std::span<float> out) const override {
      out[0] = static_cast<float>(key->seed) + static_cast<float>(key->number);
      return 5;
    }
  };
  const ImageShape shape = {.channels = 1, .height = 1, .width = 1};
  const std::vector<float> pixel = {0};
  const auto pairs = *JoinPairs(std::make_unique<Drawn>(shape, pixel),
                                std::make_unique<Drawn>(shape, pixel));
  std::vector<float> out(2);
  EXPECT_EQ(*pairs->ReadSample(0, {.seed = 10, .number = 7}, out), 5);
  EXPECT_THAT(out, ElementsAre(17, 17));
}

}  // namespace
}  // namespace gandem
