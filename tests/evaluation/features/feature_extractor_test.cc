// SPDX-License-Identifier: Apache-2.0
//
// The contract of every extractor, and files that hold no network.
#include "evaluation/features/feature_extractor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "evaluation/features/classifier.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr ImageShape kGray = {.channels = 1, .height = 8, .width = 8};

// Returns `answer` for any images.
class FakeExtractor : public FeatureExtractor {
 public:
  FakeExtractor()
      : FeatureExtractor({.name = "fake",
                          .sha256 = {},
                          .feature_dim = 3,
                          .num_classes = 2,
                          .resize = {}}) {}
  Features answer;

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor&) override {
    return answer;
  }
};

at::Tensor Images(int64_t count) {
  return torch::zeros({count, 1, 8, 8}, torch::kByte);
}

TEST(FeatureExtractorTest, GivesDoublesOnTheCpu) {
  FakeExtractor fake;
  const at::Tensor features = torch::randn({3, 4}).t();  // by columns
  fake.answer = {.features_ND = features, .logits_NK = torch::ones({4, 2})};
  ASSERT_OK_AND_ASSIGN(const Features result, fake.Extract(Images(4)));
  EXPECT_EQ(result.features_ND.scalar_type(), at::kDouble);
  EXPECT_TRUE(result.features_ND.is_contiguous());
  EXPECT_TRUE(result.features_ND.equal(features.to(at::kDouble)));
  EXPECT_EQ(result.logits_NK.scalar_type(), at::kDouble);
  EXPECT_FALSE(result.features_ND.requires_grad());
}

TEST(FeatureExtractorTest, RejectsOtherThan8BitImages) {
  FakeExtractor fake;
  for (const at::Tensor& images :
       {torch::zeros({4, 1, 8, 8}), torch::zeros({4, 8, 8}, torch::kByte),
        torch::zeros({4, 2, 8, 8}, torch::kByte),
        torch::zeros({4, 4, 8, 8}, torch::kByte),
        torch::zeros({0, 3, 8, 8}, torch::kByte)}) {
    EXPECT_THAT(fake.Extract(images),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("8-bit images [N, 1 or 3")));
  }
}

TEST(FeatureExtractorTest, RejectsOutputOfAnotherShape) {
  FakeExtractor fake;
  const at::Tensor logits = torch::ones({4, 2});
  for (const at::Tensor& features :
       {torch::ones({4, 2}), torch::ones({3, 3}), torch::ones({4, 3, 1}),
        torch::ones({4, 3}, torch::kLong), at::Tensor()}) {
    fake.answer = {.features_ND = features, .logits_NK = logits};
    EXPECT_THAT(fake.Extract(Images(4)),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("fake must return features [4, 3]")));
  }
  fake.answer = {.features_ND = torch::ones({4, 3})};
  EXPECT_THAT(fake.Extract(Images(4)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("logits [4, 2]")));
}

TEST(FeatureExtractorTest, NamesTheFirstImageThatIsNotFinite) {
  for (const double bad :
       {std::nan(""), std::numeric_limits<double>::infinity()}) {
    FakeExtractor fake;
    fake.answer = {.features_ND = torch::ones({4, 3}),
                   .logits_NK = torch::ones({4, 2})};
    fake.answer.features_ND[2][1] = bad;
    fake.answer.features_ND[3][0] = bad;
    EXPECT_THAT(fake.Extract(Images(4)),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("for 2 of 4 images"),
                               HasSubstr("first for image 2:"))));
    EXPECT_THAT(fake.Extract(Images(4),
                             [](int64_t place) {
                               return absl::StrCat("folder/", 600 + place,
                                                   ".png");
                             }),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("first for folder/602.png:")));
  }
}

// Multiplies each image's pixels by 1.0123.
class ScalingExtractor : public FeatureExtractor {
 public:
  explicit ScalingExtractor(const FeatureCompute& compute)
      : FeatureExtractor(
            {.name = "scaling", .sha256 = {}, .feature_dim = 64, .resize = {}},
            compute) {}

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    return Features{.features_ND =
                        at::linear(images_NCHW.to(at::kFloat).flatten(1),
                                   1.0123 * torch::eye(64))};
  }
};

TEST(FeatureExtractorTest, ProductsHaveThePrecisionThatIsAskedFor) {
  const at::Tensor images = torch::full({2, 1, 8, 8}, 201, torch::kByte);
  const at::Tensor exact = torch::tensor(1.0123f) * 201;
  for (const auto& [precision, text] :
       {std::pair(at::kFloat, ""), std::pair(at::kBFloat16, "bfloat16"),
        std::pair(at::kHalf, "float16")}) {
    ScalingExtractor extractor({.precision = precision});
    EXPECT_EQ(extractor.net().compute, text);
    ASSERT_OK_AND_ASSIGN(const Features features, extractor.Extract(images));
    const at::Tensor expected =
        (torch::tensor(1.0123f).to(precision).to(at::kFloat) * 201)
            .to(precision)
            .to(at::kDouble);
    EXPECT_TRUE(features.features_ND.eq(expected).all().item<bool>()) << text;
    EXPECT_EQ(exact.to(at::kDouble).equal(expected), precision == at::kFloat);
  }
}

TEST(FeatureExtractorTest, ExplainsAnOverflowOfHalfPrecision) {
  class Overflowing : public ScalingExtractor {
   public:
    Overflowing() : ScalingExtractor({.precision = at::kHalf}) {}

   protected:
    absl::StatusOr<Features> Forward(const at::Tensor& images) override {
      return Features{.features_ND =
                          torch::full({images.size(0), 64}, 1e6).to(at::kHalf)};
    }
  };
  EXPECT_THAT(Overflowing().Extract(Images(2)),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("bfloat16 and float32 hold them")));
}

class OpenTest : public ::testing::Test {
 protected:
  gandem::testing::TempDir dir_;
  const std::string path_ = dir_ / "net";
};

TEST_F(OpenTest, FilesWithoutANetwork) {
  EXPECT_THAT(OpenFeatureExtractor(path_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  for (const std::string bytes :
       {"", "PK", "a text", "\x80\x04\x95 a pickle of Python 3"}) {
    ASSERT_OK(WriteFile(path_, bytes));
    EXPECT_THAT(
        OpenFeatureExtractor(path_),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(path_), HasSubstr("neither TorchScript"))));
  }
  ASSERT_OK(WriteFile(path_, "PK\x03\x04 and then nothing"));
  EXPECT_THAT(OpenFeatureExtractor(path_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
  ASSERT_OK(WriteSafetensors(path_, {}, {}));
  EXPECT_THAT(OpenFeatureExtractor(path_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("nor a classifier")));
}

TEST_F(OpenTest, ShapesOfImages) {
  for (const ImageShape& shape :
       {ImageShape{.channels = 2, .height = 8, .width = 8},
        ImageShape{.channels = 3, .height = 0, .width = 8},
        ImageShape{.channels = 3, .height = -1, .width = -1}}) {
    EXPECT_THAT(
        OpenFeatureExtractor(path_, {.image_shape = shape}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gray or RGB")));
  }
}

TEST_F(OpenTest, AClassifierTakesImagesOfItsShapeOnly) {
  const Classifier classifier(kGray, 4, /*seed=*/1);
  ASSERT_OK(WriteSafetensors(path_, PackClassifier(classifier), {}));
  EXPECT_THAT(OpenFeatureExtractor(path_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("images of 1 x 8 x 8"),
                             HasSubstr("3 x 299 x 299"))));
  ASSERT_OK_AND_ASSIGN(const auto extractor,
                       OpenFeatureExtractor(path_, {.image_shape = kGray}));
  EXPECT_OK(extractor->Extract(Images(2)));
  EXPECT_THAT(
      OpenFeatureExtractor(
          path_, {.image_shape = {.channels = 1, .height = 0, .width = 0}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--resize")));
  EXPECT_THAT(OpenFeatureExtractor(
                  path_, {.image_shape = kGray, .resize = InputResize::kClean}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--input_resize is for weights")));
  EXPECT_THAT(
      extractor->Extract(torch::zeros({2, 1, 9, 8}, torch::kByte)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 x 9 x 8")));
}

TEST_F(OpenTest, ClassifiersThatDoNotFit) {
  std::vector<NamedTensor> tensors =
      PackClassifier(Classifier(kGray, 4, /*seed=*/1));
  const auto set_header = [&](std::vector<int64_t> header) {
    tensors[0].shape = {static_cast<int64_t>(header.size())};
    tensors[0].bytes =
        SharedBytes::Copy(std::as_bytes(std::span<const int64_t>(header)));
    return WriteSafetensors(path_, tensors, {}).status();
  };
  ASSERT_OK(set_header({2, 1, 8, 8, 4}));
  EXPECT_THAT(OpenFeatureExtractor(path_, {.image_shape = kGray}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("version 2"), HasSubstr("train it"))));
  ASSERT_OK(set_header({1, 1, 4, 8, 1}));
  EXPECT_THAT(OpenFeatureExtractor(path_, {.image_shape = kGray}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("height 4"), HasSubstr("classes 1"))));
  ASSERT_OK(set_header({1, 1, 8}));
  EXPECT_THAT(OpenFeatureExtractor(path_, {.image_shape = kGray}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be int64 [5]")));
  ASSERT_OK(set_header({1, 1, 8, 8, 5}));
  EXPECT_THAT(OpenFeatureExtractor(path_, {.image_shape = kGray}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("classifier.output.weight has shape")));
}

TEST(FeatureComputeTest, PrecisionsByTheirNames) {
  for (const char* text : {"float32", "bfloat16", "float16"}) {
    ASSERT_OK_AND_ASSIGN(const at::ScalarType precision, ParsePrecision(text));
    EXPECT_EQ(PrecisionText(precision), text);
  }
  ASSERT_OK_AND_ASSIGN(const at::ScalarType precision, ParsePrecision(""));
  EXPECT_EQ(precision, at::kFloat);
  EXPECT_THAT(ParsePrecision("int8").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none of float32, bfloat16, float16")));
}

TEST(FeatureComputeTest, CardsNameOtherThanFloat32OnTheCpu) {
  EXPECT_EQ(ComputeText({}), "");
  EXPECT_EQ(ComputeText({.precision = at::kHalf}), "float16");
  EXPECT_EQ(ComputeText({.device = at::Device("cuda:1")}), "float32 on cuda");
  EXPECT_EQ(
      ComputeText({.device = at::Device("cuda:0"), .precision = at::kBFloat16}),
      "bfloat16 on cuda");
}

}  // namespace
}  // namespace gandem
