// SPDX-License-Identifier: Apache-2.0
//
// Compares resizing and features with pytorch-fid and torch-fidelity, for the
// real architecture with drawn weights (tests/oracles/feature_goldens.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "evaluation/features/feature_extractor.h"
#include "evaluation/features/inception_extractor.h"
#include "evaluation/features/inception_input.h"
#include "evaluation/networks/inception_v3.h"
#include "models/torch.h"
#include "tests/evaluation/features/inception_testing.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::DrawImages;
using ::gandem::testing::DrawInceptionWeights;
using ::gandem::testing::Golden;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  std::string name;
  std::vector<int64_t> shape_NCHW;
};
const std::vector<Case>& Cases() {
  static const auto* const cases =
      new std::vector<Case>{{"small", {2, 3, 32, 40}},
                            {"gray", {2, 1, 28, 28}},
                            {"large", {1, 3, 352, 310}},
                            {"exact", {1, 3, 299, 299}}};
  return *cases;
}

double LargestDifference(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return (actual.to(at::kDouble) - expected.to(at::kDouble))
      .abs()
      .max()
      .item<double>();
}

class InceptionTest : public ::testing::Test {
 protected:
  // One thread, because ctest runs several programs at a time.
  InceptionTest() { at::set_num_threads(1); }
  const Golden golden_{"features.safetensors"};
};

TEST_F(InceptionTest, ResizesLikeTheOtherPrograms) {
  for (uint64_t place = 0; place < Cases().size(); ++place) {
    const auto& [name, shape] = Cases()[place];
    const at::Tensor images_NCHW = DrawImages(shape, place);
    for (const auto& [resize, golden] :
         {std::pair(InputResize::kTf1, "tf1."),
          std::pair(InputResize::kPytorchFid, "half_pixel."),
          std::pair(InputResize::kClean, "clean.")}) {
      const at::Tensor resized = ResizeForInception(images_NCHW, resize);
      EXPECT_THAT(resized.sizes(), ElementsAre(shape[0], 3, 299, 299));
      EXPECT_LE(
          LargestDifference(resized.slice(2, 0, 299, 23).slice(3, 0, 299, 13),
                            golden_.Get(golden + name)),
          1e-5)
          << golden << name;
    }
  }
}

// The weights, 95 MB, are loaded once for all cases.
TEST_F(InceptionTest, FeaturesAreThoseOfTorchFidelityAndPyTorchFid) {
  std::vector<NamedTensor> weights = DrawInceptionWeights();
  // The weights equal those of the golden, so a difference is the network's.
  for (const NamedTensor& tensor : weights) {
    if (tensor.name != "fc.weight") continue;
    const at::Tensor drawn = torch::from_blob(
        const_cast<std::byte*>(tensor.bytes.data()), tensor.shape, at::kFloat);
    EXPECT_LE(
        LargestDifference(drawn.to(at::kDouble).sum(1), golden_.Get("classes")),
        1e-12);
  }
  gandem::testing::TempDir dir;
  const std::string path = dir / "weights.safetensors";
  ASSERT_OK(WriteSafetensors(path, weights, {}));
  weights.clear();
  ASSERT_OK_AND_ASSIGN(const auto tf1, OpenFeatureExtractor(path));
  ASSERT_OK_AND_ASSIGN(
      const auto half_pixel,
      OpenFeatureExtractor(path, {.resize = InputResize::kPytorchFid}));
  const FeatureNet& net = tf1->net();
  EXPECT_EQ(net.feature_dim, 2048);
  EXPECT_EQ(net.num_classes, 1008);
  EXPECT_EQ(net.name, "inception-" + net.sha256.substr(0, 8));
  EXPECT_FALSE(net.is_inception);  // its weights were drawn
  EXPECT_NE(net.resize, half_pixel->net().resize);
  for (uint64_t place = 0; place < Cases().size(); ++place) {
    const auto& [name, shape] = Cases()[place];
    const at::Tensor images_NCHW = DrawImages(shape, place);
    ASSERT_OK_AND_ASSIGN(const Features fidelity, tf1->Extract(images_NCHW));
    EXPECT_LE(LargestDifference(fidelity.features_ND,
                                golden_.Get("fidelity.features." + name)),
              1e-4)
        << name;
    EXPECT_LE(LargestDifference(fidelity.logits_NK,
                                golden_.Get("fidelity.logits." + name)),
              1e-4)
        << name;
    ASSERT_OK_AND_ASSIGN(const Features fid, half_pixel->Extract(images_NCHW));
    EXPECT_LE(
        LargestDifference(fid.features_ND, golden_.Get("fid.features." + name)),
        1e-4)
        << name;
  }
}

// The layers are those of pytorch-fid's --dims.
TEST_F(InceptionTest, EarlierLayersAreThoseOfPyTorchFid) {
  const std::vector<NamedTensor> weights = DrawInceptionWeights();
  ASSERT_OK_AND_ASSIGN(const InceptionV3 network, InceptionV3::Load(weights));
  const at::Tensor input = ResizeForInception(
      DrawImages(Cases()[0].shape_NCHW, 0), InputResize::kPytorchFid);
  for (const int64_t dims : {64, 192, 768}) {
    const Features layer = network.Forward(input, dims);
    EXPECT_LE(LargestDifference(
                  layer.features_ND,
                  golden_.Get("fid." + std::to_string(dims) + ".small")),
              1e-4)
        << dims;
    EXPECT_FALSE(layer.logits_NK.defined());
  }
  ASSERT_OK_AND_ASSIGN(
      const auto extractor,
      MakeInceptionExtractor(
          weights,
          "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
          {.dims = 192}));
  EXPECT_EQ(extractor->net().feature_dim, 192);
  EXPECT_EQ(extractor->net().num_classes, 0);
  EXPECT_EQ(DistanceName(extractor->net()), "FD(inception-2015-12-05-192)");
  EXPECT_EQ(extractor->net().part, "layer of 192");
  EXPECT_THAT(
      MakeInceptionExtractor(weights, std::string(64, '0'), {.dims = 100})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("dims 100 is none of 64, 192, 768, 2048")));
}

TEST_F(InceptionTest, Bfloat16IsNear) {
  ASSERT_OK_AND_ASSIGN(
      const auto extractor,
      MakeInceptionExtractor(DrawInceptionWeights(), std::string(64, '0'),
                             {.compute = {.precision = at::kBFloat16}}));
  ASSERT_OK_AND_ASSIGN(const Features features, extractor->Extract(DrawImages(
                                                    Cases()[0].shape_NCHW, 0)));
  const at::Tensor expected = golden_.Get("fidelity.features.small");
  const double largest = expected.abs().max().item<double>();
  const double difference = LargestDifference(features.features_ND, expected);
  EXPECT_LE(difference, 3e-2 * largest);
  EXPECT_GE(difference, 1e-4 * largest);
}

TEST_F(InceptionTest, NamesOfResizes) {
  EXPECT_EQ(*ParseInputResize(""), InputResize::kTf1);
  for (const char* name : {"tf1", "pytorch_fid", "clean"}) {
    EXPECT_OK(ParseInputResize(name));
  }
  EXPECT_NE(InputResizeText(InputResize::kTf1),
            InputResizeText(InputResize::kClean));
  EXPECT_THAT(ParseInputResize("bicubic"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'bicubic' is none of tf1, pytorch_fid, "
                                 "clean")));
}

// Images of several sizes are seen one by one, with the same features.
TEST_F(InceptionTest, ImagesOfSeveralSizes) {
  ASSERT_OK_AND_ASSIGN(
      const auto extractor,
      MakeInceptionExtractor(
          DrawInceptionWeights(), std::string(64, '0'),
          {.image_shape = {.channels = 3, .height = 0, .width = 0}}));
  const at::Tensor small = DrawImages({1, 3, 20, 16}, 0);
  const at::Tensor large = DrawImages({1, 3, 24, 40}, 1);
  ASSERT_OK_AND_ASSIGN(const Features both,
                       extractor->ExtractEach({small, large}));
  ASSERT_OK_AND_ASSIGN(const Features first, extractor->Extract(small));
  ASSERT_OK_AND_ASSIGN(const Features second, extractor->Extract(large));
  EXPECT_TRUE(both.features_ND[0].equal(first.features_ND[0]));
  EXPECT_TRUE(both.features_ND[1].equal(second.features_ND[0]));
  EXPECT_TRUE(both.logits_NK[1].equal(second.logits_NK[0]));
}

// Half precision rounds the weights; double precision loses nothing.
TEST_F(InceptionTest, WeightsOfOtherPrecisions) {
  const std::vector<NamedTensor> weights = DrawInceptionWeights();
  const auto stored_as = [&](at::ScalarType type, DType dtype) {
    std::vector<NamedTensor> stored = weights;
    for (NamedTensor& tensor : stored) {
      if (tensor.dtype != DType::kF32) continue;
      const at::Tensor values =
          torch::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                           tensor.shape, at::kFloat)
              .to(type);
      tensor.dtype = dtype;
      tensor.bytes = SharedBytes::Copy(
          std::span(static_cast<const std::byte*>(values.const_data_ptr()),
                    values.nbytes()));
    }
    return stored;
  };
  const at::Tensor input =
      ResizeForInception(DrawImages({1, 3, 32, 40}, 0), InputResize::kTf1);
  ASSERT_OK_AND_ASSIGN(const InceptionV3 single, InceptionV3::Load(weights));
  ASSERT_OK_AND_ASSIGN(const InceptionV3 wide,
                       InceptionV3::Load(stored_as(at::kDouble, DType::kF64)));
  ASSERT_OK_AND_ASSIGN(const InceptionV3 half,
                       InceptionV3::Load(stored_as(at::kHalf, DType::kF16)));
  const at::Tensor expected = single.Forward(input).features_ND;
  EXPECT_TRUE(wide.Forward(input).features_ND.equal(expected));
  const double difference =
      LargestDifference(half.Forward(input).features_ND, expected);
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 0.05 * expected.abs().max().item<double>());
}

TEST_F(InceptionTest, OnlyPublishedFilesAreCalledFid) {
  const std::string hashes[] = {
      "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
      "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4"};
  for (const std::string& hash : hashes) {
    EXPECT_EQ(hash.size(), 64);
    EXPECT_TRUE(IsPublishedInception(hash));
  }
  EXPECT_FALSE(IsPublishedInception(std::string(64, '0')));
  EXPECT_EQ(DistanceName({.name = "inception-2015-12-05",
                          .sha256 = hashes[0],
                          .resize = {},
                          .is_inception = true}),
            "FID");
}

// state_dict() of pytorch-fid's module has other names and no classes.
TEST_F(InceptionTest, NamesOfPyTorchFid) {
  const std::string layers[] = {"Conv2d_1a_3x3.",
                                "Conv2d_2a_3x3.",
                                "Conv2d_2b_3x3.",
                                "",
                                "Conv2d_3b_1x1.",
                                "Conv2d_4a_3x3.",
                                "",
                                "Mixed_5b.",
                                "Mixed_5c.",
                                "Mixed_5d.",
                                "Mixed_6a.",
                                "Mixed_6b.",
                                "Mixed_6c.",
                                "Mixed_6d.",
                                "Mixed_6e.",
                                "",
                                "Mixed_7a.",
                                "Mixed_7b.",
                                "Mixed_7c."};
  std::vector<NamedTensor> weights = DrawInceptionWeights();
  std::erase_if(weights, [](const NamedTensor& tensor) {
    return tensor.name.substr(0, 3) == "fc.";
  });
  const at::Tensor images_NCHW = torch::zeros({1, 3, 299, 299});
  ASSERT_OK_AND_ASSIGN(const InceptionV3 original, InceptionV3::Load(weights));
  for (NamedTensor& tensor : weights) {
    int block = 0;
    int place = 0;
    for (const std::string& layer : layers) {
      if (layer.empty()) {
        ++block;
        place = 0;
        continue;
      }
      if (tensor.name.substr(0, layer.size()) == layer) {
        tensor.name = "blocks." + std::to_string(block) + "." +
                      std::to_string(place) + "." +
                      tensor.name.substr(layer.size());
        break;
      }
      ++place;
    }
  }
  EXPECT_TRUE(InceptionV3::HoldsWeights(weights));
  ASSERT_OK_AND_ASSIGN(const InceptionV3 renamed, InceptionV3::Load(weights));
  EXPECT_TRUE(
      renamed.Forward(images_NCHW)
          .features_ND.equal(original.Forward(images_NCHW).features_ND));
}

TEST_F(InceptionTest, WeightsThatDoNotFit) {
  std::vector<NamedTensor> weights = DrawInceptionWeights();
  const auto named = [&weights](const std::string& name) {
    return std::find_if(
        weights.begin(), weights.end(),
        [&](const NamedTensor& tensor) { return tensor.name == name; });
  };
  // torchvision has 1000 classes.
  named("fc.weight")->shape = {1000, 2048};
  EXPECT_THAT(InceptionV3::Load(weights),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("fc.weight has shape [1000, 2048]"),
                             HasSubstr("[1008, 2048]"))));
  weights.erase(named("fc.weight"));
  ASSERT_OK_AND_ASSIGN(const InceptionV3 headless, InceptionV3::Load(weights));
  EXPECT_FALSE(headless.has_logits());

  weights.erase(named("Mixed_6c.branch7x7_2.bn.running_var"));
  EXPECT_THAT(InceptionV3::Load(weights),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Mixed_6c.branch7x7_2.bn.running_var is "
                                 "missing")));
  EXPECT_THAT(MakeInceptionExtractor({}, std::string(64, '0'), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("Conv2d_1a_3x3.conv.weight"),
                             Not(HasSubstr("is missing")))));
}

}  // namespace
}  // namespace gandem
