// SPDX-License-Identifier: Apache-2.0
#include "pipeline/fitted_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "common/value_of_byte.h"
#include "pipeline/io_counters.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::FakeStore;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Dataset> Fitted(std::vector<PixelImage> images,
                                Fitting fitting) {
  auto fitted = FittedImages::Create(
      std::make_unique<FakeStore>(std::move(images)), fitting);
  GANDEM_CHECK_OK(fitted.status());
  return *std::move(fitted);
}

std::vector<float> Values(const Dataset& data, int64_t index = 0) {
  std::vector<float> values(data.shape().NumValues());
  EXPECT_EQ(*data.Read(index, values), index);  // label
  return values;
}

std::vector<int> Bytes(const std::vector<float>& values) {
  std::vector<int> bytes;
  for (const float value : values) bytes.push_back(QuantizePixel(value));
  return bytes;
}

std::vector<int> SampleBytes(const Dataset& data, int64_t number) {
  std::vector<float> values(data.shape().NumValues());
  EXPECT_OK(data.ReadSample(0, {.seed = 3, .number = number}, values));
  return Bytes(values);
}

// Computes area average and bilinear interpolation from their definitions:
// every output pixel is an integral over the source, or an interpolation in it,
// computed in double on one axis after the other.
double AreaReference(const PixelImage& image, int64_t size, int64_t c,
                     int64_t y, int64_t x) {
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
  for (int64_t sy = 0; sy < image.height; ++sy) {
    for (int64_t sx = 0; sx < image.width; ++sx) {
      sum +=
          weight(y, sy, image.height) * weight(x, sx, image.width) *
          kValueOfByte[image.pixels[(sy * image.width + sx) * image.channels +
                                    c]];
    }
  }
  return sum;
}

TEST(FittedImagesTest, PaddingCentersTheImageOnBlack) {
  const auto padded = Fitted(
      {{.channels = 3, .height = 1, .width = 2, .pixels = {1, 2, 3, 4, 5, 6}}},
      {.size = 3, .channels = 3, .pad = true});
  EXPECT_EQ(padded->shape(),
            (ImageShape{.channels = 3, .height = 3, .width = 3}));
  EXPECT_THAT(Bytes(Values(*padded)), ElementsAre(0, 0, 0, 1, 4, 0, 0, 0, 0,  //
                                                  0, 0, 0, 2, 5, 0, 0, 0, 0,  //
                                                  0, 0, 0, 3, 6, 0, 0, 0, 0));
  EXPECT_EQ(*padded->ContentHash(), "fake");
}

TEST(FittedImagesTest, EveryByteIsConvertedToItsValue) {
  for (const int64_t channels : {1, 3}) {
    PixelImage image = {.channels = channels, .height = 16, .width = 16};
    for (int64_t i = 0; i < 256 * channels; ++i) {
      image.pixels.push_back(static_cast<uint8_t>(i / channels + i % channels));
    }
    const auto fitted = Fitted({image}, {.size = 16, .channels = channels});
    const std::vector<float> values = Values(*fitted);
    for (int64_t i = 0; i < 256 * channels; ++i) {
      EXPECT_EQ(values[i % channels * 256 + i / channels],
                kValueOfByte[image.pixels[i]])
          << i;
    }
  }
}

TEST(FittedImagesTest, MnistIsPaddedByTwoPixelsOnEachSide) {
  const PixelImage image = NoiseImage(1, 28, 28, 1);
  const auto padded = Fitted({image}, {.size = 32, .pad = true});
  const std::vector<float> pixels = Values(*padded);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const bool inside = y >= 2 && y < 30 && x >= 2 && x < 30;
      EXPECT_EQ(
          pixels[y * 32 + x],
          inside ? kValueOfByte[image.pixels[(y - 2) * 28 + x - 2]] : -1.0f);
    }
  }
}

TEST(FittedImagesTest, AnImageTooLargeToPadIsReportedWithItsField) {
  const auto padded = Fitted({NoiseImage(1, 2, 2, 0), NoiseImage(1, 3, 2, 0)},
                             {.size = 2, .pad = true});
  std::vector<float> values(4);
  EXPECT_OK(padded->Read(0, values));
  EXPECT_THAT(padded->Read(1, values),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("fake 1"),
                             HasSubstr("data.image_size 2 is too small for "
                                       "data.fit: PAD"))));
  EXPECT_THAT(FittedImages::Create(
                  std::make_unique<FakeStore>(std::vector<PixelImage>(1)), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.image_size 0 is below 1")));
}

TEST(FittedImagesTest, AreaMatchesItsDefinition) {
  for (const ImageShape from :
       {ImageShape{.channels = 1, .height = 28, .width = 28},
        ImageShape{.channels = 3, .height = 7, .width = 19},
        ImageShape{.channels = 1, .height = 13, .width = 5}}) {
    const PixelImage image =
        NoiseImage(from.channels, from.height, from.width, 7);
    for (const int64_t size : {1, 4, 8, 13, 19, 28, 32, 64}) {
      const auto resized =
          Fitted({image}, {.size = size, .channels = from.channels});
      const std::vector<float> values = Values(*resized);
      for (int64_t c = 0; c < from.channels; ++c) {
        for (int64_t y = 0; y < size; ++y) {
          for (int64_t x = 0; x < size; ++x) {
            ASSERT_NEAR(values[(c * size + y) * size + x],
                        AreaReference(image, size, c, y, x), 2e-6)
                << from.height << " x " << from.width << " -> " << size;
          }
        }
      }
    }
  }
}

TEST(FittedImagesTest, KernelsComputeOnBytes) {
  const PixelImage image = NoiseImage(3, 10, 10, 2);
  const auto resized = Fitted({image}, {.size = 4,
                                        .channels = 3,
                                        .crop = CropPlace::kCenter,
                                        .kernel = ResizeKernel::kBicubic});
  const PixelImage expected =
      KernelResampler(ResizeKernel::kBicubic, 10, 10, 4, 4).Apply(image);
  const std::vector<int> bytes = Bytes(Values(*resized));
  for (int i = 0; i < 16; ++i) {
    for (int c = 0; c < 3; ++c) {
      EXPECT_EQ(bytes[c * 16 + i], expected.pixels[i * 3 + c]);
    }
  }
}

TEST(FittedImagesTest, CenterCropTakesTheSquareInTheMiddle) {
  const PixelImage wide = {.height = 1, .width = 4, .pixels = {10, 20, 30, 40}};
  const PixelImage high = {.height = 4, .width = 1, .pixels = {10, 20, 30, 40}};
  for (const CropPlace crop : {CropPlace::kCenter, CropPlace::kRandom}) {
    const auto cropped = Fitted({wide, high}, {.size = 1, .crop = crop});
    EXPECT_THAT(Bytes(Values(*cropped, 0)), ElementsAre(20));
    EXPECT_THAT(Bytes(Values(*cropped, 1)), ElementsAre(20));
  }
}

TEST(FittedImagesTest, RandomCropsAndMirrorsAreKeyedBySample) {
  const PixelImage wide = {
      .height = 2, .width = 4, .pixels = {1, 2, 3, 4, 11, 12, 13, 14}};
  const auto data =
      Fitted({wide}, {.size = 2, .crop = CropPlace::kRandom, .flip = true});
  const auto crops = Fitted({wide}, {.size = 2, .crop = CropPlace::kRandom});
  std::set<std::vector<int>> seen;
  for (int64_t number = 0; number < 200; ++number) {
    const std::vector<int> bytes = SampleBytes(*data, number);
    EXPECT_EQ(bytes, SampleBytes(*data, number)) << "a function of the number";
    seen.insert(bytes);
    std::vector<int> sorted = bytes;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, SampleBytes(*crops, number));
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(
                        ElementsAre(1, 2, 11, 12), ElementsAre(2, 1, 12, 11),
                        ElementsAre(2, 3, 12, 13), ElementsAre(3, 2, 13, 12),
                        ElementsAre(3, 4, 13, 14), ElementsAre(4, 3, 14, 13)));
  EXPECT_THAT(Bytes(Values(*data)), ElementsAre(2, 3, 12, 13)) << "not drawn";
}

// Resumed runs depend on the draws of seed 3.
TEST(FittedImagesTest, TheDrawsAreFrozen) {
  const PixelImage two = {.height = 1, .width = 2, .pixels = {0, 255}};
  const auto data = Fitted({two}, {.size = 1, .crop = CropPlace::kRandom});
  std::string places;
  for (int64_t number = 0; number < 16; ++number) {
    places += SampleBytes(*data, number)[0] == 0 ? '0' : '1';
  }
  EXPECT_EQ(places, "1000001010100001");
}

TEST(FittedImagesTest, ColorAndGrayAreConverted) {
  const PixelImage rgb = {
      .channels = 3, .height = 1, .width = 1, .pixels = {200, 100, 50}};
  EXPECT_THAT(Bytes(Values(*Fitted({rgb}, {.size = 1}))),
              ElementsAre(124));  // 0.299 R + 0.587 G + 0.114 B
  const PixelImage gray = {.height = 1, .width = 1, .pixels = {9}};
  EXPECT_THAT(Bytes(Values(*Fitted({gray}, {.size = 1, .channels = 3}))),
              ElementsAre(9, 9, 9));
}

TEST(FittedImagesTest, MaxImagesLimitsAndFailuresAreReturned) {
  const auto data = Fitted({NoiseImage(1, 1, 1, 0), PixelImage()},
                           {.size = 1, .max_images = 5});
  EXPECT_EQ(data->size(), 2);
  std::vector<float> values(1);
  EXPECT_THAT(data->Read(1, values),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bad pixel")));
  EXPECT_EQ(Fitted({NoiseImage(1, 1, 1, 0), PixelImage()},
                   {.size = 1, .max_images = 1})
                ->size(),
            1);
}

// A store of images that must be decoded.
class EncodedFakes : public FakeStore {
 public:
  using FakeStore::FakeStore;
  absl::StatusOr<std::string> Fetch(int64_t /*index*/) const override {
    return "stored";
  }
};

TEST(FittedImagesTest, ReadAndDecodeTimesAreCounted) {
  const IoCounters& counters = ProcessIoCounters();
  const int64_t decode_before = counters.decode_ns;
  const int64_t transform_before = counters.transform_ns;
  std::vector<PixelImage> images = {NoiseImage(3, 300, 300, 1)};
  const auto fitted =
      *FittedImages::Create(std::make_unique<EncodedFakes>(std::move(images)),
                            {.size = 8, .channels = 3});
  Values(*fitted, 0);
  EXPECT_GT(counters.decode_ns, decode_before);
  EXPECT_GT(counters.transform_ns, transform_before);
}

TEST(FittedImagesTest, ImagesMayHaveDifferentSizes) {
  std::vector<PixelImage> images;
  for (const int64_t side : {20, 30, 20}) {
    images.push_back(NoiseImage(1, side, side, static_cast<uint32_t>(side)));
  }
  const Fitting fitting = {.size = 8, .kernel = ResizeKernel::kBicubic};
  const auto all = Fitted(images, fitting);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Values(*all, i), Values(*Fitted({images[i]}, fitting)));
  }
}

}  // namespace
}  // namespace gandem
