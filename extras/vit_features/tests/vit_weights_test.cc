// SPDX-License-Identifier: Apache-2.0
#include "extras/vit_features/vit_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "extras/vit_features/tests/vit_testing.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::VitGoldenWeights;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

NamedTensor& VitTensor(std::vector<NamedTensor>& tensors,
                       const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  EXPECT_NE(found, tensors.end()) << name;
  return *found;
}

TEST(VitWeightsTest, TensorsDetermineTheSizes) {
  const std::vector<NamedTensor> meta = VitGoldenWeights("dinov2.meta");
  EXPECT_EQ(VitFamilyOf(meta), VitFamily::kDinov2);
  ASSERT_OK_AND_ASSIGN(const VitWeights dino,
                       LoadVitWeights(VitFamily::kDinov2, meta));
  EXPECT_EQ(dino.width, 128);
  EXPECT_EQ(dino.patch, 8);
  EXPECT_EQ(dino.grid, 5);
  EXPECT_EQ(dino.blocks.size(), 2u);
  EXPECT_TRUE(dino.blocks[1].scale2.defined());
  EXPECT_EQ(dino.positions.sizes(), at::IntArrayRef({26, 128}));
  EXPECT_EQ(dino.positions.scalar_type(), at::kFloat);  // from half precision

  const std::vector<NamedTensor> face = VitGoldenWeights("clip.face");
  EXPECT_EQ(VitFamilyOf(face), VitFamily::kClip);
  ASSERT_OK_AND_ASSIGN(const VitWeights clip,
                       LoadVitWeights(VitFamily::kClip, face));
  EXPECT_EQ(clip.width, 64);
  EXPECT_EQ(clip.blocks.size(), 1u);
  EXPECT_EQ(clip.projection.sizes(), at::IntArrayRef({48, 64}));
  EXPECT_EQ(clip.blocks[0].qkv_weight.sizes(), at::IntArrayRef({192, 64}));
  EXPECT_FALSE(clip.patch_bias.defined());
}

TEST(VitWeightsTest, ListsAllThatDoesNotFit) {
  std::vector<NamedTensor> weights = VitGoldenWeights("dinov2.meta");
  std::erase_if(weights, [](const NamedTensor& tensor) {
    return tensor.name == "norm.bias" || tensor.name == "blocks.1.ls2.gamma";
  });
  VitTensor(weights, "blocks.0.mlp.fc2.weight").shape = {96, 128};
  VitTensor(weights, "pos_embed").shape = {26, 128, 1};
  VitTensor(weights, "blocks.0.norm1.bias").dtype = DType::kBool;
  NamedTensor extra = VitTensor(weights, "cls_token");
  extra.name = "register_tokens";
  weights.push_back(extra);
  extra.name = "blocks.3.norm1.weight";
  weights.push_back(extra);
  EXPECT_THAT(
      LoadVitWeights(VitFamily::kDinov2, weights).status(),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("norm.bias is missing"),
                HasSubstr("blocks.1.ls2.gamma is missing"),
                HasSubstr("blocks.0.mlp.fc2.weight has shape [96, 128], the "
                          "network wants [128, 96]"),
                HasSubstr("pos_embed has shape [26, 128, 1], the network "
                          "wants [T, 128]"),
                HasSubstr("blocks.0.norm1.bias has the type BOOL"),
                HasSubstr("register_tokens is not a tensor of such a network"),
                HasSubstr("blocks.3.norm1.weight is not a tensor"),
                Not(HasSubstr("mask_token")))));
}

TEST(VitWeightsTest, InvalidSizes) {
  std::vector<NamedTensor> weights = VitGoldenWeights("clip.open");
  NamedTensor& positions = VitTensor(weights, "visual.positional_embedding");
  positions.shape[0] = 36;
  EXPECT_THAT(LoadVitWeights(VitFamily::kClip, weights).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("there are 36 positions, expected one and "
                                 "those of a square")));
  std::erase_if(weights, [](const NamedTensor& tensor) {
    return tensor.name.starts_with("visual.transformer.");
  });
  EXPECT_THAT(LoadVitWeights(VitFamily::kClip, weights).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("visual.transformer.resblocks.0.... is "
                                 "missing")));
}

TEST(VitWeightsTest, AnotherFamilyIsNamed) {
  EXPECT_THAT(
      LoadVitWeights(VitFamily::kClip, VitGoldenWeights("dinov2.face"))
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dinov2:FILE")));
  EXPECT_THAT(
      LoadVitWeights(VitFamily::kDinov2, VitGoldenWeights("clip.open"))
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("clip:FILE")));
  EXPECT_THAT(LoadVitWeights(VitFamily::kDinov2, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no tensor patch_embed.proj.weight or "
                                 "embeddings.patch_embeddings")));
  EXPECT_EQ(VitFamilyOf({}), std::nullopt);
}

}  // namespace
}  // namespace gandem
