// SPDX-License-Identifier: Apache-2.0
//
// Compares LPIPS with its authors' package (lpips_goldens.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "extras/lpips/lpips_extractor.h"
#include "extras/lpips/lpips_network.h"
#include "models/torch.h"
#include "tests/evaluation/features/golden_weights.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::GoldenWeights;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kLpipsHash(64, 'b');
// Relative to tests/goldens.
const std::string kLpipsFolder = "../../extras/lpips/tests/goldens/";

std::vector<NamedTensor> GoldenLpips(const std::string& trunk) {
  return GoldenWeights(kLpipsFolder + "lpips_weights.safetensors", trunk + ".");
}

ExtractorOptions ImagesOf(int64_t pixels) {
  return {.image_shape = {.channels = 3, .height = pixels, .width = pixels}};
}

absl::StatusOr<std::unique_ptr<FeatureExtractor>> OpenLpips(
    const std::string& trunk, int64_t pixels) {
  return MakeLpipsExtractor(GoldenLpips(trunk), kLpipsHash, ImagesOf(pixels));
}

TEST(LpipsTest, DistancesEqualThoseOfThePackage) {
  const Golden golden(kLpipsFolder + "lpips.safetensors");
  for (const std::string trunk : {"alex", "vgg"}) {
    ASSERT_OK_AND_ASSIGN(const auto extractor, OpenLpips(trunk, 40));
    EXPECT_EQ(extractor->net().name, trunk);
    EXPECT_EQ(extractor->net().feature_dim, 1);
    for (const std::string images : {"color", "gray"}) {
      ASSERT_OK_AND_ASSIGN(const Features distances,
                           extractor->Extract(golden.Get("pairs." + images)));
      const at::Tensor expected = golden.Get(trunk + "." + images);
      EXPECT_LE((distances.features_ND - expected).abs().max().item<double>(),
                1e-5)
          << trunk << " " << images;
    }
  }
}

TEST(LpipsTest, Bfloat16IsClose) {
  const Golden golden(kLpipsFolder + "lpips.safetensors");
  ExtractorOptions options = ImagesOf(40);
  options.compute.precision = at::kBFloat16;
  for (const std::string trunk : {"alex", "vgg"}) {
    ASSERT_OK_AND_ASSIGN(
        const auto extractor,
        MakeLpipsExtractor(GoldenLpips(trunk), kLpipsHash, options));
    ASSERT_OK_AND_ASSIGN(const Features distances,
                         extractor->Extract(golden.Get("pairs.color")));
    const at::Tensor off =
        (distances.features_ND / golden.Get(trunk + ".color") - 1).abs();
    EXPECT_LE(off.max().item<double>(), 3e-2) << trunk;
    EXPECT_GE(off.max().item<double>(), 1e-5) << trunk;
  }
}

// The images of a pair would be equal as bytes.
TEST(LpipsTest, NearlyEqualImages) {
  const Golden golden(kLpipsFolder + "lpips.safetensors");
  for (const std::string trunk : {"alex", "vgg"}) {
    ASSERT_OK_AND_ASSIGN(const auto extractor, OpenLpips(trunk, 40));
    ASSERT_OK_AND_ASSIGN(const Features distances,
                         extractor->Extract(golden.Get("paths")));
    const at::Tensor expected = golden.Get(trunk + ".paths");
    EXPECT_LE((distances.features_ND / expected - 1).abs().max().item<double>(),
              1e-3)
        << trunk;
  }
}

TEST(LpipsTest, RecognizesFilesByTheirTensors) {
  const testing::TempDir folder;
  const std::string path = folder.path() + "/weights.safetensors";
  ASSERT_OK(WriteSafetensors(path, GoldenLpips("vgg"), {}));
  ASSERT_OK_AND_ASSIGN(const auto extractor,
                       OpenFeatureExtractor(path, ImagesOf(32)));
  EXPECT_EQ(extractor->net().family, kLpipsFamily);
  ExtractorOptions options = ImagesOf(32);
  options.dims = 64;
  EXPECT_THAT(OpenFeatureExtractor(path, options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--dims is for weights of the FID")));
  EXPECT_EQ(ParseNetworkFile("lpips:a.pth").family, kLpipsFamily);
}

TEST(LpipsTest, WrongWeightsAreListed) {
  std::vector<NamedTensor> weights = GoldenLpips("alex");
  std::erase_if(weights, [](const NamedTensor& tensor) {
    return tensor.name == "lin3.model.1.weight";
  });
  for (NamedTensor& tensor : weights) {
    if (tensor.name == "net.slice5.10.bias") tensor.shape = {1, 6};
  }
  EXPECT_THAT(
      LpipsNetwork::Load(weights).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("lin3.model.1.weight is missing"),
                     HasSubstr("net.slice5.10.bias is F16 [1, 6], the network "
                               "wants floating-point numbers [6]"))));
  std::erase_if(weights, [](const NamedTensor& tensor) {
    return tensor.name.starts_with("lin");
  });
  EXPECT_THAT(
      LpipsNetwork::Load(weights).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("there is no tensor lin0.model.1.weight"),
                     HasSubstr("state_dict(), FILE)"))));
}

TEST(LpipsTest, UnsuitableImages) {
  EXPECT_THAT(OpenLpips("alex", 30).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("31 pixels a side or more"),
                             HasSubstr("vgg takes smaller ones"))));
  EXPECT_THAT(OpenLpips("vgg", 15).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("16 pixels a side or more")));
  EXPECT_THAT(
      OpenLpips("vgg", 0).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("several sizes")));
  // Each trunk accepts images of the minimum size that its message names.
  for (const auto& [trunk, pixels] : {std::pair("alex", 31), {"vgg", 16}}) {
    ASSERT_OK_AND_ASSIGN(const auto extractor, OpenLpips(trunk, pixels));
    EXPECT_OK(
        extractor->Extract(torch::zeros({1, 6, pixels, pixels}, torch::kByte)));
    EXPECT_THAT(
        extractor->Extract(torch::zeros({1, 3, pixels, pixels}, torch::kByte))
            .status(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("2 or 6, height")));
  }
}

}  // namespace
}  // namespace gandem
