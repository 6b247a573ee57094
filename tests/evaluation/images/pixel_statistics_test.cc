// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/pixel_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/philox.h"
#include "models/torch.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr ImageShape kOneRow = {.channels = 1, .height = 1, .width = 2};

PixelStatistics Gaussian(const std::vector<double>& mean,
                         const std::vector<double>& covariance) {
  return {.shape = kOneRow,
          .coarse = {.count = 0,
                     .mean_D = torch::tensor(mean, at::kDouble),
                     .covariance_DD =
                         torch::tensor(covariance, at::kDouble).view({2, 2}),
                     .root_ND = {}}};
}

double Structure(const PixelStatistics& real,
                 const PixelStatistics& generated) {
  return ComputeSampleDistance(real, generated)->structure;
}

TEST(SampleDistanceTest, FrechetClosedForms) {
  // Commuting covariances: |m1 - m2|^2 + sum (sqrt(l1) - sqrt(l2))^2, divided
  // by the trace of the first.
  const PixelStatistics a = Gaussian({0, 0}, {4, 0, 0, 1});
  EXPECT_NEAR(Structure(a, a), 0, 1e-14);
  EXPECT_NEAR(Structure(a, Gaussian({3, 4}, {4, 0, 0, 1})), 25 / 5., 1e-13);
  EXPECT_NEAR(Structure(a, Gaussian({0, 1}, {9, 0, 0, 16})), (1 + 1 + 9) / 5.,
              1e-13);
  EXPECT_NEAR(Structure(a, Gaussian({0, 0}, {0, 0, 0, 0})), 1, 1e-14);
  // Rank one against rank one: 1 + 1 - 2 |cos(angle)|.
  EXPECT_NEAR(Structure(Gaussian({0, 0}, {1, 0, 0, 0}),
                        Gaussian({0, 0}, {0.36, 0.48, 0.48, 0.64})),
              2 - 2 * 0.6, 1e-7);
  // For 2 x 2 matrices tr((C1 C2)^1/2) is sqrt(tr(C1 C2) + 2 sqrt(det C1 C2)),
  // here with tr(C1 C2) = 8, det C1 = 3 and det C2 = 5.
  EXPECT_NEAR(Structure(Gaussian({0, 0}, {2, 1, 1, 2}),
                        Gaussian({0, 0}, {3, -1, -1, 2})),
              (4 + 5 - 2 * std::sqrt(8 + 2 * std::sqrt(3 * 5.0))) / 4, 1e-13);
}

TEST(SampleDistanceTest, RefusesWhatCannotBeCompared) {
  const PixelStatistics a = Gaussian({0, 0}, {4, 0, 0, 1});
  PixelStatistics other = a;
  other.shape.width = 3;
  EXPECT_THAT(ComputeSampleDistance(a, other),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("1 x 1 x 2 cannot be compared with generated "
                                 "ones of 1 x 1 x 3")));
  EXPECT_THAT(ComputeSampleDistance(Gaussian({0, 0}, {0, 0, 0, 0}), a),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("real images are all the same")));
}

TEST(PixelAccumulatorTest, SmallExample) {
  PixelAccumulator accumulator(kOneRow);
  accumulator.Add(std::vector<float>{-1, 1});   // bytes 0, 255
  accumulator.Add(std::vector<float>{-1, -1});  // 0, 0
  accumulator.Add(std::vector<float>{1, 7});    // 255, 255
  ASSERT_OK_AND_ASSIGN(const PixelStatistics result, accumulator.Finish());
  EXPECT_EQ(result.coarse.count, 3);
  EXPECT_TRUE(at::allclose(result.coarse.mean_D,
                           torch::tensor({1 / 3., 2 / 3.}, at::kDouble),
                           /*rtol=*/1e-15));
  EXPECT_TRUE(at::allclose(
      result.coarse.covariance_DD,
      torch::tensor({{1 / 3., 1 / 6.}, {1 / 6., 1 / 3.}}, at::kDouble),
      /*rtol=*/1e-15));
  EXPECT_DOUBLE_EQ(result.histogram.front(), 0.5);
  EXPECT_DOUBLE_EQ(result.histogram.back(), 0.5);
  EXPECT_DOUBLE_EQ(result.roughness, 1 / 3.);
}

TEST(PixelAccumulatorTest, RoughnessCountsBothDirectionsAndNotAcrossChannels) {
  PixelAccumulator accumulator({.channels = 2, .height = 2, .width = 2});
  // Channel 0 differs downwards by 1, channel 1 is white: 2 of 8 pairs.
  const std::vector<float> image = {-1, -1, 1, 1, 1, 1, 1, 1};
  accumulator.Add(image);
  accumulator.Add(image);
  EXPECT_DOUBLE_EQ(accumulator.Finish()->roughness, 0.25);
}

TEST(PixelAccumulatorTest, NeedsTwoImages) {
  PixelAccumulator accumulator(kOneRow);
  accumulator.Add(std::vector<float>{0, 0});
  EXPECT_THAT(accumulator.Finish(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("needs 2 images or more, there are 1")));
}

// Compares Fashion-MNIST with other images of it and with the ways in which a
// generator fails.
class SampleCheckTest : public ::testing::Test {
 protected:
  using Image = std::vector<float>;
  using Maker = std::function<Image(int64_t)>;
  static constexpr int64_t kSamples = 2048;

  static void SetUpTestSuite() {
    DataConfig config;
    config.set_max_images(12288);
    data_ = *OpenDataset(config);
    real_ = new PixelStatistics(Statistics(10240, RealImage));
  }
  static void TearDownTestSuite() {
    delete real_;
    data_.reset();
  }

  static Image RealImage(int64_t index) {
    Image image(data_->shape().NumValues());
    EXPECT_OK(data_->Read(index, image));
    return image;
  }
  // Real images that are not in real_.
  static Image HeldOut(int64_t index) { return RealImage(10240 + index); }

  static PixelStatistics Statistics(int64_t count, const Maker& make) {
    PixelAccumulator accumulator(data_->shape());
    for (int64_t i = 0; i < count; ++i) accumulator.Add(make(i));
    return *accumulator.Finish();
  }
  static double Distance(const Maker& make) {
    return ComputeSampleDistance(*real_, Statistics(kSamples, make))->Total();
  }

  static Image Constant(float value) {
    return Image(data_->shape().NumValues(), value);
  }
  // Black stays black.
  static Image Scale(Image image, float factor) {
    for (float& value : image) value = (value + 1) * factor - 1;
    return image;
  }
  static PhiloxStream Stream(int64_t index) {
    return PhiloxStream(1, Purpose::kSample, 0, static_cast<uint64_t>(index));
  }
  static Image AddNoise(Image image, int64_t index, float sigma) {
    PhiloxStream stream = Stream(index);
    for (float& value : image) {
      value += sigma * static_cast<float>(stream.NextNormal());
    }
    return image;
  }
  static Image Noise(int64_t index) {
    PhiloxStream stream = Stream(index);
    Image image = Constant(0);
    for (float& value : image) {
      value = static_cast<float>(2 * stream.NextUniform() - 1);
    }
    return image;
  }
  // Images of T-shirts.
  static Maker OneClass() {
    std::vector<int64_t> members;
    Image scratch = Constant(0);
    for (int64_t i = 0; i < 10240; ++i) {
      if (*data_->Read(i, scratch) == 0) members.push_back(i);
    }
    return
        [members](int64_t i) { return RealImage(members[i % members.size()]); };
  }
  static Image MeanImage() {
    Image mean = Constant(0);
    for (int64_t i = 0; i < 1024; ++i) {
      const Image image = RealImage(i);
      for (size_t k = 0; k < mean.size(); ++k) mean[k] += image[k] / 1024;
    }
    return mean;
  }
  // Mean over (2 radius + 1)^2 pixels, black outside.
  static Image Blur(const Image& image, int radius) {
    const int size = static_cast<int>(data_->shape().width);
    const auto area = static_cast<float>((2 * radius + 1) * (2 * radius + 1));
    Image blurred(image.size());
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        float sum = 0;
        for (int v = y - radius; v <= y + radius; ++v) {
          for (int u = x - radius; u <= x + radius; ++u) {
            const bool inside = v >= 0 && v < size && u >= 0 && u < size;
            sum += inside ? image[v * size + u] : -1.0f;
          }
        }
        blurred[y * size + x] = sum / area;
      }
    }
    return blurred;
  }

  static std::shared_ptr<const Dataset> data_;
  static PixelStatistics* real_;
};
std::shared_ptr<const Dataset> SampleCheckTest::data_;
PixelStatistics* SampleCheckTest::real_ = nullptr;

// The table of docs/reference/sample_check.md; update it when a value changes.
TEST_F(SampleCheckTest, DocumentedValues) {
  const auto expect = [](const char* name, double documented,
                         const Maker& make) {
    SCOPED_TRACE(name);
    const double value = Distance(make);
    EXPECT_NEAR(value, documented, 0.01 * documented);
  };
  expect("real images", 0.0139, HeldOut);
  expect("brighter", 0.1153, [](int64_t i) { return Scale(HeldOut(i), 1.1f); });
  expect("blurred", 0.3642, [](int64_t i) { return Blur(HeldOut(i), 1); });
  expect("64 images", 0.1087, [](int64_t i) { return HeldOut(i % 64); });
  expect("8 images", 0.5279, [](int64_t i) { return HeldOut(i % 8); });
  expect("one class", 0.6601, OneClass());
  expect("half as bright", 1.3309,
         [](int64_t i) { return Scale(HeldOut(i), 0.5f); });
  const Image mean = MeanImage();
  expect("mean image", 1.8458, [&mean](int64_t) { return mean; });
  expect("one image", 2.0178, [](int64_t) { return HeldOut(3); });
  expect("black", 4.4134, [](int64_t) { return Constant(-1.0f); });
  expect("noise", 4.8185, Noise);
  expect("gray", 5.7947, [](int64_t) { return Constant(0.0f); });
}

TEST_F(SampleCheckTest, FailuresAreFarFromRealImages) {
  const double real = Distance(HeldOut);
  const Image mean = MeanImage();
  for (const Maker& failure :
       {Maker(Noise), Maker([](int64_t) { return Constant(-1.0f); }),
        Maker([](int64_t) { return Constant(1.0f); }),
        Maker([](int64_t) { return HeldOut(3); }),
        Maker([&mean](int64_t) { return mean; })}) {
    EXPECT_GT(Distance(failure), 1);
    EXPECT_GT(Distance(failure), 100 * real);
  }
}

TEST_F(SampleCheckTest, FewerDistinctImagesAreWorse) {
  double last = Distance(HeldOut);
  for (const int64_t distinct : {512, 64, 8, 1}) {
    const double value =
        Distance([distinct](int64_t i) { return HeldOut(i % distinct); });
    EXPECT_GT(value, last) << distinct;
    last = value;
  }
}

TEST_F(SampleCheckTest, MoreNoiseAndMoreBlurAreWorse) {
  double last = Distance(HeldOut);
  for (const float sigma : {0.02f, 0.05f, 0.1f, 0.2f, 0.5f}) {
    const double value =
        Distance([sigma](int64_t i) { return AddNoise(HeldOut(i), i, sigma); });
    EXPECT_GT(value, last) << sigma;
    last = value;
  }
  last = Distance(HeldOut);
  for (const int radius : {1, 2, 4}) {
    const double value =
        Distance([radius](int64_t i) { return Blur(HeldOut(i), radius); });
    EXPECT_GT(value, last) << radius;
    last = value;
  }
}

}  // namespace
}  // namespace gandem
