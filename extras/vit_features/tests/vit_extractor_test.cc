// SPDX-License-Identifier: Apache-2.0
//
// Compares vision transformers with those of vit_goldens.py.
#include "extras/vit_features/vit_extractor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extras/vit_features/tests/vit_testing.h"
#include "models/torch.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::kVitGoldens;
using ::gandem::testing::StatusIs;
using ::gandem::testing::VitGoldenWeights;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kVitStride = 17;
const std::string kVitHash(64, 'a');

double VitDifference(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return (a.to(at::kDouble) - b).abs().max().item<double>();
}

struct VitCase {
  std::string name;
  VitFamily family;
  std::vector<std::string> files;
  int64_t size;
};

const std::vector<VitCase>& VitCases() {
  static const auto* const cases = new std::vector<VitCase>{
      {"dinov2", VitFamily::kDinov2, {"meta", "face"}, 224},
      {"clip", VitFamily::kClip, {"open", "face"}, 48}};
  return *cases;
}

TEST(VitExtractorTest, InputEqualsPillows) {
  const Golden golden(kVitGoldens);
  for (const VitCase& made : VitCases()) {
    for (const std::string image : {"wide", "gray", "tall"}) {
      const at::Tensor input_NCHW =
          VitInput(golden.Get("images." + image), made.family, made.size);
      EXPECT_EQ(input_NCHW.size(1), 3);
      const at::Tensor thin = input_NCHW.slice(2, 0, made.size, kVitStride)
                                  .slice(3, 0, made.size, kVitStride);
      EXPECT_LE(VitDifference(thin, golden.Get(made.name + ".input." + image)),
                1e-6)
          << made.name << " " << image;
    }
  }
}

TEST(VitExtractorTest, FeaturesEqualThoseOfPyTorch) {
  const Golden golden(kVitGoldens);
  for (const VitCase& made : VitCases()) {
    for (const std::string& file : made.files) {
      const std::string stem = made.name + "." + file;
      ASSERT_OK_AND_ASSIGN(
          const auto extractor,
          MakeVitExtractor(made.family, VitGoldenWeights(stem), kVitHash));
      for (const std::string image : {"wide", "gray", "tall"}) {
        ASSERT_OK_AND_ASSIGN(const Features features,
                             extractor->Extract(golden.Get("images." + image)));
        const at::Tensor expected = golden.Get(stem + ".features." + image);
        EXPECT_LE(VitDifference(features.features_ND, expected),
                  1e-5 * expected.abs().max().item<double>())
            << stem << " " << image;
        EXPECT_FALSE(features.logits_NK.defined());
      }
    }
  }
}

TEST(VitExtractorTest, Bfloat16IsClose) {
  const Golden golden(kVitGoldens);
  for (const VitCase& made : VitCases()) {
    const std::string stem = made.name + "." + made.files.front();
    ASSERT_OK_AND_ASSIGN(
        const auto extractor,
        MakeVitExtractor(made.family, VitGoldenWeights(stem), kVitHash,
                         {.precision = at::kBFloat16}));
    EXPECT_EQ(extractor->net().compute, "bfloat16");
    ASSERT_OK_AND_ASSIGN(const Features features,
                         extractor->Extract(golden.Get("images.wide")));
    const at::Tensor expected = golden.Get(stem + ".features.wide");
    const double largest = expected.abs().max().item<double>();
    const double difference = VitDifference(features.features_ND, expected);
    EXPECT_LE(difference, 3e-2 * largest) << stem;
    EXPECT_GE(difference, 1e-4 * largest) << stem;
  }
}

TEST(VitExtractorTest, TheCardNamesNetworkAndResize) {
  ASSERT_OK_AND_ASSIGN(
      const auto dino,
      MakeVitExtractor(VitFamily::kDinov2, VitGoldenWeights("dinov2.meta"),
                       kVitHash));
  EXPECT_EQ(dino->net().name, "dinov2-vit-2x128-patch8-aaaaaaaa");
  EXPECT_EQ(dino->net().feature_dim, 128);
  EXPECT_EQ(dino->net().num_classes, 0);
  EXPECT_EQ(dino->net().resize,
            "dgm-eval's, bicubic as in Pillow, 8 bits, 224 x 224");
  EXPECT_EQ(DistanceName(dino->net()), "FD(dinov2-vit-2x128-patch8-aaaaaaaa)");
  ASSERT_OK_AND_ASSIGN(
      const auto clip,
      MakeVitExtractor(VitFamily::kClip, VitGoldenWeights("clip.open"),
                       kVitHash));
  EXPECT_EQ(clip->net().feature_dim, 48);
  EXPECT_EQ(clip->net().resize,
            "CMMD's, central square, bicubic as in Pillow, 8 bits, 48 x 48");
}

TEST(VitExtractorTest, UnsuitablePatchSizes) {
  std::vector<NamedTensor> weights = VitGoldenWeights("dinov2.meta");
  for (NamedTensor& tensor : weights) {
    if (tensor.name == "patch_embed.proj.weight") tensor.shape = {128, 3, 5, 5};
  }
  EXPECT_THAT(MakeVitExtractor(VitFamily::kDinov2, std::move(weights), kVitHash)
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("patches of 5 pixels")));
}

TEST(VitExtractorTest, ANameMayIncludeTheFamily) {
  EXPECT_EQ(ParseNetworkFile("clip:a/b.safetensors").family, "clip");
  EXPECT_EQ(ParseNetworkFile("clip:a/b.safetensors").path, "a/b.safetensors");
  EXPECT_EQ(ParseNetworkFile("dinov2:x").path, "x");
  EXPECT_EQ(ParseNetworkFile("clip.pth").path, "clip.pth");
  EXPECT_EQ(ParseNetworkFile("clip.pth").family, "");
}

TEST(VitExtractorTest, FilesOfAnotherFamilyAreRefused) {
  const gandem::testing::TempDir dir;
  const std::string path = dir / "weights.safetensors";
  ASSERT_OK(WriteSafetensors(path, VitGoldenWeights("clip.face"), {}));
  ASSERT_OK_AND_ASSIGN(const auto told,
                       OpenFeatureExtractor(path, {.family = "clip"}));
  EXPECT_EQ(told->net().family, "clip");
  ASSERT_OK_AND_ASSIGN(const auto untold, OpenFeatureExtractor(path));
  EXPECT_EQ(untold->net().name, told->net().name);
  EXPECT_THAT(told->net().name, StartsWith("clip-vit-1x64-patch8-"));
  EXPECT_THAT(OpenFeatureExtractor(path, {.family = "dinov2"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr("clip:FILE"))));
  EXPECT_THAT(
      OpenFeatureExtractor(path, {.resize = InputResize::kClean}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("a vision transformer resizes its images itself")));
  EXPECT_THAT(OpenFeatureExtractor(path, {.dims = 64}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--dims is for weights of the FID")));
}

}  // namespace
}  // namespace gandem
