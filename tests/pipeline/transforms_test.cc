// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// One image of given values, label 5.
class OneImage : public Dataset {
 public:
  OneImage(ImageShape shape, std::vector<float> pixels)
      : shape_(shape), pixels_(std::move(pixels)) {}
  int64_t size() const override { return 1; }
  ImageShape shape() const override { return shape_; }
  absl::StatusOr<int64_t> Read(int64_t, std::span<float> out) const override {
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
  absl::StatusOr<int64_t> Read(int64_t, std::span<float>) const override {
    return absl::DataLossError("bad pixel");
  }
};

std::unique_ptr<Dataset> Image(ImageShape shape, std::vector<float> pixels) {
  return std::make_unique<OneImage>(shape, std::move(pixels));
}

std::vector<float> ReadOnly(const Dataset& data) {
  std::vector<float> pixels(data.shape().NumValues());
  EXPECT_EQ(*data.Read(0, pixels), 5);
  return pixels;
}

std::vector<float> Resize(ImageShape shape, std::vector<float> pixels,
                          int64_t size) {
  return ReadOnly(**ResizeTo(Image(shape, std::move(pixels)), size));
}

std::vector<float> Wave(ImageShape shape) {
  std::vector<float> pixels;
  for (int64_t i = 0; i < shape.NumValues(); ++i) {
    pixels.push_back(std::sin(static_cast<float>(i * i + i)));
  }
  return pixels;
}

// Area average and bilinear interpolation straight from their definitions:
// every output pixel is an integral over, or an interpolation in, the source,
// computed in double on one axis after the other.
double Reference(const std::vector<float>& image, ImageShape from, int64_t size,
                 int64_t c, int64_t y, int64_t x) {
  const auto weight = [&](int64_t i, int64_t s, int64_t length) {
    const double ratio = static_cast<double>(length) / size;
    if (length > size) {
      const double overlap = std::min<double>(s + 1, (i + 1) * ratio) -
                             std::max<double>(s, i * ratio);
      return std::max(0.0, overlap) / ratio;
    }
    const double center =
        std::clamp((i + 0.5) * ratio - 0.5, 0.0, length - 1.0);
    return std::max(0.0, 1.0 - std::abs(center - s));
  };
  double sum = 0;
  for (int64_t sy = 0; sy < from.height; ++sy) {
    for (int64_t sx = 0; sx < from.width; ++sx) {
      sum += weight(y, sy, from.height) * weight(x, sx, from.width) *
             image[(c * from.height + sy) * from.width + sx];
    }
  }
  return sum;
}

TEST(PadTest, CentersOnBlack) {
  ASSERT_OK_AND_ASSIGN(
      const auto padded,
      PadTo(Image({.channels = 2, .height = 1, .width = 2}, {.1, .2, .3, .4}),
            3));
  EXPECT_EQ(padded->shape(),
            (ImageShape{.channels = 2, .height = 3, .width = 3}));
  const std::vector<float> expected = {-1, -1, -1, .1, .2, -1, -1, -1, -1,
                                       -1, -1, -1, .3, .4, -1, -1, -1, -1};
  EXPECT_EQ(ReadOnly(*padded), expected);
  EXPECT_EQ(*padded->ContentHash(), "one");
}

TEST(PadTest, MnistGetsTwoPixelsOnEachSide) {
  const ImageShape shape = {.channels = 1, .height = 28, .width = 28};
  const std::vector<float> image = Wave(shape);
  ASSERT_OK_AND_ASSIGN(const auto padded, PadTo(Image(shape, image), 32));
  const std::vector<float> pixels = ReadOnly(*padded);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const bool inside = y >= 2 && y < 30 && x >= 2 && x < 30;
      EXPECT_EQ(pixels[y * 32 + x],
                inside ? image[(y - 2) * 28 + x - 2] : -1.0f);
    }
  }
}

TEST(PadTest, TooSmallNamesTheField) {
  EXPECT_THAT(
      PadTo(Image({.channels = 1, .height = 2, .width = 1}, {0, 0}), 1),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("data.image_size 1 is too small for data.fit: PAD")));
}

TEST(ResizeTest, ShrinkingAverages) {
  EXPECT_THAT(Resize({.channels = 1, .height = 2, .width = 2},
                     {0.0f, 0.25f, 0.5f, 1.0f}, 1),
              ElementsAre(0.4375f));
  // 3 -> 2: each output covers one and a half source pixels.
  EXPECT_THAT(Resize({.channels = 1, .height = 3, .width = 3},
                     {-1, 0, 1, -1, 0, 1, -1, 0, 1}, 2),
              Pointwise(FloatNear(1e-6), {-2 / 3., 2 / 3., -2 / 3., 2 / 3.}));
}

TEST(ResizeTest, EnlargingInterpolatesBetweenPixelCenters) {
  EXPECT_THAT(Resize({.channels = 1, .height = 1, .width = 2}, {-1, 1}, 4),
              ElementsAre(-1, -0.5, 0.5, 1, -1, -0.5, 0.5, 1, -1, -0.5, 0.5, 1,
                          -1, -0.5, 0.5, 1));
}

TEST(ResizeTest, MatchesTheDefinition) {
  for (const ImageShape from :
       {ImageShape{.channels = 1, .height = 28, .width = 28},
        ImageShape{.channels = 3, .height = 7, .width = 19},
        ImageShape{.channels = 2, .height = 13, .width = 5}}) {
    const std::vector<float> image = Wave(from);
    for (const int64_t size : {1, 4, 8, 13, 19, 28, 32, 64}) {
      const std::vector<float> resized = Resize(from, image, size);
      for (int64_t c = 0; c < from.channels; ++c) {
        for (int64_t y = 0; y < size; ++y) {
          for (int64_t x = 0; x < size; ++x) {
            ASSERT_NEAR(resized[(c * size + y) * size + x],
                        Reference(image, from, size, c, y, x), 2e-6)
                << from.height << " x " << from.width << " -> " << size;
          }
        }
      }
    }
  }
}

TEST(ResizeTest, StaysInRange) {
  for (const int64_t size : {3, 5, 11, 31}) {
    const std::vector<float> white =
        Resize({.channels = 1, .height = 28, .width = 28},
               std::vector<float>(28 * 28, 1.0f), size);
    EXPECT_LE(*std::max_element(white.begin(), white.end()), 1.0f);
    EXPECT_GE(*std::min_element(white.begin(), white.end()), 0.999999f);
  }
}

TEST(ResizeTest, SameSizeChangesNothing) {
  const ImageShape shape = {.channels = 1, .height = 9, .width = 9};
  EXPECT_EQ(Resize(shape, Wave(shape), 9), Wave(shape));
}

TEST(ResizeTest, SizeBelowOne) {
  EXPECT_THAT(ResizeTo(Image({.channels = 1, .height = 1, .width = 1}, {0}), 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.image_size 0 is below 1")));
}

TEST(JoinPairsTest, ChannelsOfBothAndLabelsOfTheFirst) {
  const auto pairs =
      *JoinPairs(Image({.channels = 2, .height = 1, .width = 1}, {1, 2}),
                 Image({.channels = 1, .height = 1, .width = 1}, {3}));
  EXPECT_EQ(pairs->shape(),
            (ImageShape{.channels = 3, .height = 1, .width = 1}));
  EXPECT_EQ(pairs->size(), 1);
  std::vector<float> out(3);
  EXPECT_EQ(*pairs->Read(0, out), 5);
  EXPECT_THAT(out, ElementsAre(1, 2, 3));
  // Of both, not of the first alone.
  EXPECT_EQ(pairs->ContentHash()->size(), 64u);
}

TEST(JoinPairsTest, FailureOfEitherTravels) {
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

TEST(TransformsTest, FailureOfTheSourceTravels) {
  const ImageShape shape = {.channels = 1, .height = 1, .width = 1};
  const std::vector<float> pixel = {0};
  std::vector<float> out(4);
  const auto padded = *PadTo(std::make_unique<Unreadable>(shape, pixel), 2);
  EXPECT_THAT(padded->Read(0, out), StatusIs(absl::StatusCode::kDataLoss));
  const auto resized = *ResizeTo(std::make_unique<Unreadable>(shape, pixel), 2);
  EXPECT_THAT(resized->Read(0, out), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace gandem
