// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensors/tensor_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/files/file.h"
#include "pipeline/sources/image_sources.h"
#include "tests/pipeline/image_files.h"
#include "tests/pipeline/tensor_files.h"
#include "tests/testing/http_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::DescribeAsP;
using ::gandem::testing::HttpAnswerText;
using ::gandem::testing::HttpCall;
using ::gandem::testing::HttpServer;
using ::gandem::testing::NpyBytes;
using ::gandem::testing::RangeAnswer;
using ::gandem::testing::SafetensorsBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TensorOf;
using ::gandem::testing::WriteTree;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Writes a shard of samples of one pixel with the numbers 0.25 i and 0.5.
std::string ShardOf(const std::vector<float>& firsts,
                    const std::vector<int64_t>& labels) {
  std::vector<float> numbers;
  for (const float first : firsts) {
    numbers.push_back(0.25f * first);
    numbers.push_back(0.5f);
  }
  const auto count = static_cast<int64_t>(firsts.size());
  std::vector<NamedTensor> tensors = {
      TensorOf("latents", DType::kF32, {count, 2, 1, 1}, numbers)};
  if (!labels.empty()) {
    tensors.push_back(TensorOf("labels", DType::kI64, {count}, labels));
  }
  return SafetensorsBytes(tensors);
}

class TensorImagesTest : public ::testing::Test {
 protected:
  gandem::testing::TempDir dir_;
};

TEST_F(TensorImagesTest, ShardsAreReadInOrder) {
  WriteTree(dir_ / "t", {{"b.safetensors", ShardOf({2, 3, 4}, {0, 5, 1})},
                         {"a.safetensors", ShardOf({0, 1}, {3, 4})}});
  ASSERT_OK_AND_ASSIGN(const auto source, OpenSource(dir_ / "t"));
  EXPECT_EQ(source->size(), 5);
  EXPECT_THAT(source->info().units, ElementsAre(0, 2));
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 5; ++i) {
    labels.push_back(source->LabelOf(i));
    const float expected[] = {0.25f * static_cast<float>(i), 0.5f};
    EXPECT_EQ(*source->Fetch(i),
              absl::string_view(reinterpret_cast<const char*>(expected), 8));
  }
  EXPECT_THAT(labels, ElementsAre(3, 4, 0, 5, 1));
  EXPECT_EQ(source->KeyOf(4), "b.safetensors: sample 2");
  EXPECT_EQ(source->NameOf(1), dir_ / "t/a.safetensors: sample 1");
  EXPECT_EQ(DescribeAsP(*source),
            "5 tensors, 2 x 1 x 1, F32, up to 1, 6 classes: 2 shards of "
            "tensors P");
}

TEST_F(TensorImagesTest, DifferentTensorsHaveDifferentHashes) {
  WriteTree(dir_ / "t", {{"a.safetensors", ShardOf({0, 1}, {3, 4})},
                         {"b.safetensors", ShardOf({0, 2}, {3, 4})},
                         {"c.safetensors", ShardOf({0, 1}, {3, 5})}});
  const auto a = *OpenSource(dir_ / "t/a.safetensors");
  const auto again = *OpenSource(dir_ / "t/a.safetensors");
  EXPECT_EQ(*a->ContentHash(), *again->ContentHash());
  EXPECT_EQ(*a->Fingerprint(), *again->Fingerprint());
  for (const char* const other : {"b", "c"}) {
    const auto source =
        *OpenSource(dir_ / absl::StrCat("t/", other, ".safetensors"));
    EXPECT_NE(*a->ContentHash(), *source->ContentHash()) << other;
    EXPECT_NE(*a->Fingerprint(), *source->Fingerprint()) << other;
  }
}

TEST_F(TensorImagesTest, ATensorIsShownAsAPicture) {
  WriteTree(dir_ / "t", {{"a.safetensors", ShardOf({4}, {})}});
  const auto source = *OpenSource(dir_ / "t");
  ASSERT_OK_AND_ASSIGN(const DecodedImage image, source->Read(0));
  EXPECT_EQ(image.pixels,
            (PixelImage{.height = 1, .width = 1, .pixels = {255}}));
}

TEST_F(TensorImagesTest, InconsistentShardsAreRefused) {
  const std::vector<float> four(4);
  WriteTree(dir_ / "shape", {{"a.npy", NpyBytes(DType::kF32, {1, 4}, four)},
                             {"b.npy", NpyBytes(DType::kF32, {2, 2}, four)}});
  EXPECT_THAT(OpenSource(dir_ / "shape"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.npy' holds F32 1 x 1 x 4"),
                             HasSubstr("b.npy' F32 1 x 1 x 2"))));
  WriteTree(dir_ / "labels", {{"a.safetensors", ShardOf({1}, {})},
                              {"b.safetensors", ShardOf({1}, {1})}});
  const auto unlabeled = *OpenSource(dir_ / "labels");
  EXPECT_EQ(unlabeled->LabelOf(1), kNoLabel);
  EXPECT_THAT(unlabeled->info().unused_labels,
              HasSubstr("a.safetensors' has no labels"));
  WriteTree(dir_ / "count",
            {{"images.npy", NpyBytes(DType::kF32, {2, 2}, four)},
             {"labels.npy",
              NpyBytes(DType::kI64, {3}, std::vector<int64_t>{0, 1, 2})}});
  EXPECT_THAT((*OpenSource(dir_ / "count"))->info().unused_labels,
              AllOf(HasSubstr("labels.npy' has 3 labels"),
                    HasSubstr("images.npy' 2 samples")));
}

TEST_F(TensorImagesTest, NonFiniteNumbersAreNamed) {
  WriteTree(
      dir_ / "t",
      {{"a.npy", NpyBytes(DType::kF32, {2, 1},
                          std::vector<float>{
                              0, std::numeric_limits<float>::quiet_NaN()})}});
  const auto source = *OpenSource(dir_ / "t");
  EXPECT_OK(source->Read(0));
  const auto read = source->Read(1);
  EXPECT_THAT(read, StatusIs(absl::StatusCode::kDataLoss,
                             HasSubstr("a.npy: sample 1: a value of it is not "
                                       "finite")));
  EXPECT_TRUE(IsUnreadable(read.status()));
}

// Each shard takes one read, and so do the labels beside it.
TEST_F(TensorImagesTest, RemoteShardsAreRead) {
  const std::string images =
      NpyBytes(DType::kF32, {2, 2}, std::vector<float>{0, 1, 2, 3});
  const std::string labels =
      NpyBytes(DType::kU8, {2}, std::vector<uint8_t>{1, 0});
  HttpServer server([&](const HttpCall& call) {
    if (call.target == "/a/images.npy") return RangeAnswer(call, images);
    if (call.target == "/a/labels.npy") return RangeAnswer(call, labels);
    return HttpAnswerText(404, "", "");
  });
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenSource(server.Url("/a/images.npy")));
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->LabelOf(0), 1);
  const float expected[] = {2, 3};
  EXPECT_EQ(*source->Fetch(1),
            absl::string_view(reinterpret_cast<const char*>(expected), 8));
}

}  // namespace
}  // namespace gandem
