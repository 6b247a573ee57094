// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensor_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/checkpoint/safetensors.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/open_dataset.h"
#include "pipeline/sources/resolve_data.h"
#include "proto/config.pb.h"
#include "tests/pipeline/image_files.h"
#include "tests/pipeline/tensor_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::NoiseImage;
using ::gandem::testing::NpyBytes;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TensorGolden;
using ::gandem::testing::WriteTree;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::string_view TextOfTensor(const NamedTensor& tensor) {
  return absl::string_view(reinterpret_cast<const char*>(tensor.bytes.data()),
                           tensor.bytes.size());
}

// Covers every exponent, both signs and subnormal numbers.
TEST(ReadTensorTest, HalvesEqualNumpys) {
  ASSERT_OK_AND_ASSIGN(const auto tensors,
                       ReadSafetensors(TensorGolden("halves.safetensors")));
  std::vector<float> expected;
  absl::string_view halves;
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == "expected") {
      expected.resize(tensor.bytes.size() / sizeof(float));
      std::memcpy(expected.data(), tensor.bytes.data(), tensor.bytes.size());
    } else if (tensor.name == "latents") {
      halves = TextOfTensor(tensor);
    }
  }
  std::vector<float> values(expected.size());
  ASSERT_EQ(halves.size(), 2 * values.size());
  EXPECT_EQ(ReadTensor(halves, DType::kF16, /*scale=*/1, values), 65504.0f);
  for (size_t i = 0; i < values.size(); ++i) {
    // Compares bits because zeros have signs.
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]),
              std::bit_cast<uint32_t>(expected[i]))
        << i;
  }
}

TEST(ReadTensorTest, NonFiniteNumbersAreReported) {
  std::vector<float> out(1);
  for (const uint16_t half : {0x7c00, 0xfc00, 0x7e00, 0xfe01}) {
    const absl::string_view bytes(reinterpret_cast<const char*>(&half), 2);
    EXPECT_FALSE(std::isfinite(ReadTensor(bytes, DType::kF16, 0.5f, out)));
  }
  for (const float value : {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    const absl::string_view bytes(reinterpret_cast<const char*>(&value), 4);
    EXPECT_FALSE(std::isfinite(ReadTensor(bytes, DType::kF32, 0.5f, out)));
  }
  const float value = -3;
  const absl::string_view bytes(reinterpret_cast<const char*>(&value), 4);
  EXPECT_EQ(ReadTensor(bytes, DType::kF32, 0.5f, out), 3);
  EXPECT_EQ(out[0], -1.5f);
}

class TensorSamplesTest : public ::testing::Test {
 protected:
  TensorSamplesTest() {
    std::vector<float> numbers;
    for (int i = 0; i < 3 * 2 * 2 * 2; ++i) {
      numbers.push_back(static_cast<float>(i) / 8);
    }
    WriteTree(dir_ / "t",
              {{"latents.npy", NpyBytes(DType::kF32, {3, 2, 2, 2}, numbers)},
               {"labels.npy",
                NpyBytes(DType::kI64, {3}, std::vector<int64_t>{1, 0, 1})}});
    config_.set_source(dir_ / "t");
    config_.set_image_size(2);
    config_.set_tensor_scale(0.25);
  }

  gandem::testing::TempDir dir_;
  DataConfig config_;
};

TEST_F(TensorSamplesTest, SamplesAreTheStoredNumbersTimesAScale) {
  config_.set_num_classes(2);
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config_));
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->shape(),
            (ImageShape{.channels = 2, .height = 2, .width = 2}));
  std::vector<float> values(8);
  EXPECT_EQ(*data->Read(1, values), 0);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(values[i], static_cast<float>(8 + i) / 32);
  }
  config_.set_max_images(2);
  EXPECT_EQ((*OpenDataset(config_))->size(), 2);
}

TEST_F(TensorSamplesTest, TensorsAreMirroredLikeImages) {
  config_.set_horizontal_flip(true);
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config_));
  std::vector<float> values(8);
  int mirrored = 0;
  for (int64_t number = 0; number < 64; ++number) {
    const SampleKey key = {.seed = 7, .number = number};
    EXPECT_EQ(*data->ReadSample(0, key, values), 1);
    const bool mirror = DrawOf(key).mirror;
    EXPECT_EQ(values[0], mirror ? 1.0f / 32 : 0);
    EXPECT_EQ(values[7], mirror ? 6.0f / 32 : 7.0f / 32);
    mirrored += mirror ? 1 : 0;
  }
  EXPECT_GT(mirrored, 16);
  EXPECT_LT(mirrored, 48);
}

TEST_F(TensorSamplesTest, MismatchesWithTheNetworksAreReported) {
  config_.set_image_size(4);
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("data.source: tensors are 2 x 2 x 2"),
                             HasSubstr("2 x 4 x 4 (data.image_size)"),
                             HasSubstr("set data.image_size to 2"))));
  config_.set_image_size(2);
  config_.set_channels(3);
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.channels is 3: set it to 2")));
  config_.clear_channels();
  config_.set_crop(DataConfig::RANDOM);
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.crop RANDOM is for images")));
  config_.clear_crop();
  config_.set_side_by_side(DataConfig::INPUT_LEFT);
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.side_by_side is for images")));
  config_.clear_side_by_side();
  WriteTree(
      dir_ / "n",
      {{"a.npy", NpyBytes(DType::kF32, {1, 2, 3}, std::vector<float>(6))}});
  config_.set_source(dir_ / "n");
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tensors are 1 x 2 x 3"),
                             HasSubstr("store squares"))));
}

TEST_F(TensorSamplesTest, WaveformsBecomeRows) {
  WriteTree(
      dir_ / "w",
      {{"a.npy", NpyBytes(DType::kF32, {1, 9},
                          std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9})}});
  config_.set_source(dir_ / "w");
  config_.set_tensor_scale(0.1);
  config_.set_horizontal_flip(true);
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tensors are 1 x 1 x 9"),
                             HasSubstr("set data.image_size to 3"))));
  config_.set_image_size(3);
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config_));
  EXPECT_EQ(data->shape(),
            (ImageShape{.channels = 1, .height = 3, .width = 3}));
  std::vector<float> values(9);
  for (int64_t number = 0; number < 16; ++number) {
    const SampleKey key = {.seed = 7, .number = number};
    ASSERT_TRUE(data->ReadSample(0, key, values).ok());
    const bool mirror = DrawOf(key).mirror;
    EXPECT_FLOAT_EQ(values[0], mirror ? 0.9f : 0.1f);
    EXPECT_FLOAT_EQ(values[5], mirror ? 0.4f : 0.6f);
  }
}

TEST_F(TensorSamplesTest, WaveformsOfOtherLengthsAreRefused) {
  WriteTree(
      dir_ / "w",
      {{"a.npy", NpyBytes(DType::kF32, {1, 10}, std::vector<float>(10))}});
  config_.set_source(dir_ / "w");
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tensors are 1 x 1 x 10"),
                             HasSubstr("such as 9"))));
}

TEST_F(TensorSamplesTest, LargeNumbersNeedAScale) {
  config_.clear_tensor_scale();
  const auto source = *OpenImages(config_);
  DataConfig resolved = config_;
  EXPECT_THAT(
      ResolveAndDescribe(*source, resolved),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("reach 2.88"), HasSubstr("data.tensor_scale"),
                     HasSubstr("to 0.348 or less"))));
  config_.set_tensor_scale(1);  // any scale is allowed
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ResolveAndDescribe(*source, config_));
  EXPECT_THAT(text, HasSubstr("3 tensors, 2 x 2 x 2, F32, up to 2.88, 2 "
                              "classes: a file of tensors"));
  EXPECT_EQ(config_.channels(), 2);
  EXPECT_EQ(config_.fit(), RESIZE);
  EXPECT_EQ(config_.crop(), DataConfig::NONE);
}

TEST_F(TensorSamplesTest, NonFiniteNumbersEndTheRead) {
  WriteTree(
      dir_ / "n",
      {{"a.npy",
        NpyBytes(DType::kF32, {1, 1, 1},
                 std::vector<float>{std::numeric_limits<float>::infinity()})}});
  config_.set_source(dir_ / "n");
  config_.set_image_size(1);
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config_));
  std::vector<float> values(1);
  EXPECT_THAT(data->Read(0, values),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.npy: sample 0"),
                             HasSubstr("--exclude bad.txt"))));
}

TEST_F(TensorSamplesTest, ImagesHaveOneOrThreeChannels) {
  WriteTree(dir_ / "photos", {{"1.png", PngBytes(NoiseImage(3, 2, 2, 1))}});
  config_.set_source(dir_ / "photos");
  config_.set_channels(4);
  EXPECT_THAT(OpenDataset(config_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.channels 4 is for tensors")));
}

TEST_F(TensorSamplesTest, UnitsAndExcludedSamplesAreSupported) {
  const std::vector<float> numbers(8);
  WriteTree(dir_ / "s", {{"a.npy", NpyBytes(DType::kF32, {2, 2, 2}, numbers)},
                         {"b.npy", NpyBytes(DType::kF32, {2, 2, 2}, numbers)},
                         {"bad.txt", "a.npy: sample 1\n"}});
  config_.set_source(dir_ / "s");
  config_.set_order(DataConfig::SHARDS);
  EXPECT_THAT((*OpenDataset(config_))->Units().firsts, ElementsAre(0, 2));
  config_.set_exclude(dir_ / "s/bad.txt");
  config_.set_max_excluded(1);
  ASSERT_OK_AND_ASSIGN(const auto fewer, OpenDataset(config_));
  EXPECT_EQ(fewer->size(), 3);
  EXPECT_THAT(fewer->Units().firsts, ElementsAre(0, 1));
  std::vector<float> values(4, 1);
  EXPECT_EQ(*fewer->Read(2, values), kNoLabel);
  EXPECT_THAT(values, Each(0));
}

}  // namespace
}  // namespace gandem
