// SPDX-License-Identifier: Apache-2.0
#include "extras/stylegan2/style_mapping.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

constexpr int64_t kStyleDim = 3;

std::shared_ptr<StyleMapping> MappingWithMean() {
  return std::make_shared<StyleMapping>(StyleMapping::Options{
      .noise_dim = 4, .style_dim = kStyleDim, .layers = 1, .has_mean = true});
}

at::Tensor MeanOf(const StyleMapping& mapping) {
  return mapping.named_buffers()["w_avg"];
}

at::Tensor Styles(int64_t first, int64_t count) {
  return (torch::arange(count * kStyleDim, at::kDouble) +
          static_cast<double>(first * kStyleDim))
      .sin()
      .view({count, kStyleDim});
}

TEST(StyleMappingTest, MeanDoesNotDependOnThePassesOfAStep) {
  const auto whole = MappingWithMean();
  const auto parts = MappingWithMean();
  for (StyleMapping* mapping : {whole.get(), parts.get()}) {
    mapping->to(at::kDouble);
  }
  at::Tensor expected = torch::zeros({kStyleDim}, at::kDouble);
  for (int64_t step = 0; step < 3; ++step) {
    whole->Record(Styles(7 * step, 7), step);
    parts->Record(Styles(7 * step, 3), step);
    parts->Record(Styles(7 * step + 3, 3), step);
    parts->Record(Styles(7 * step + 6, 1), step);
    expected = 0.995 * expected + 0.005 * Styles(7 * step, 7).mean(0);
  }
  EXPECT_TRUE(at::allclose(MeanOf(*whole), expected, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(MeanOf(*parts), expected, 1e-12, 1e-12));
}

// A run that resumes from a checkpoint may repeat the step with the same
// number.
TEST(StyleMappingTest, AStepBeginsWithALoadedMean) {
  const auto mapping = MappingWithMean();
  mapping->to(at::kDouble);
  mapping->Record(Styles(0, 2) * NAN, /*step=*/5);
  EXPECT_FALSE(MeanOf(*mapping).isfinite().any().item<bool>());
  {
    const torch::NoGradGuard no_grad;
    MeanOf(*mapping).fill_(2);
  }
  mapping->Record(Styles(0, 2), /*step=*/5);
  EXPECT_TRUE(at::allclose(MeanOf(*mapping),
                           1.99 + 0.005 * Styles(0, 2).mean(0), 1e-12, 1e-12));
}

TEST(StyleMappingTest, MeanHasNoGradient) {
  const auto mapping = MappingWithMean();
  const at::Tensor styles = torch::ones({2, kStyleDim}).requires_grad_();
  mapping->Record(styles, /*step=*/0);
  EXPECT_FALSE(MeanOf(*mapping).requires_grad());
}

TEST(StyleMappingTest, TruncationMovesStylesTowardsTheMean) {
  const auto mapping = MappingWithMean();
  {
    const torch::NoGradGuard no_grad;
    MeanOf(*mapping).fill_(1);
  }
  const at::Tensor styles = torch::full({2, kStyleDim}, 5.);
  EXPECT_TRUE(at::equal(mapping->Truncated(styles), styles));
  const struct {
    double psi;
    double style;
  } kCases[] = {{0.5, 3}, {0, 1}, {-1, -3}};
  for (const auto& c : kCases) {
    mapping->set_psi(c.psi);
    EXPECT_TRUE(at::equal(mapping->Truncated(styles),
                          torch::full({2, kStyleDim}, c.style)))
        << c.psi;
  }
}

class StyleMixingTest : public ::testing::Test {
 protected:
  static constexpr int64_t kLayers = 5;
  static constexpr int64_t kImages = 4000;

  at::Tensor Place(int64_t first_index = 0, int64_t step = 5) const {
    return PlaceOf(Condition{.place = {.purpose = Purpose::kGeneratorNoise,
                                       .step = step,
                                       .first_index = first_index}});
  }
};

// 0.8 of the images have two styles, evenly distributed over the layers.
TEST_F(StyleMixingTest, BeginsAtAnyLayerExceptTheFirst) {
  StyleMixing mixing({.probability = 0.8, .num_layers = kLayers});
  const at::Tensor begins_N = mixing.Begins(Place(), kImages);
  const at::Tensor shares =
      at::bincount(begins_N, /*weights=*/{}, kLayers + 1) /
      static_cast<double>(kImages);
  ASSERT_EQ(shares.numel(), kLayers + 1);
  EXPECT_EQ(shares[0].item<double>(), 0);
  for (int64_t layer = 1; layer < kLayers; ++layer) {
    EXPECT_NEAR(shares[layer].item<double>(), 0.2, 0.03) << layer;
  }
  EXPECT_NEAR(shares[kLayers].item<double>(), 0.2, 0.03);
}

TEST_F(StyleMixingTest, CertainOrNever) {
  StyleMixing never({.probability = 0, .num_layers = kLayers});
  EXPECT_EQ(never.Begins(Place(), kImages).min().item<int64_t>(), kLayers);
  StyleMixing always({.probability = 1, .num_layers = kLayers});
  EXPECT_LT(always.Begins(Place(), kImages).max().item<int64_t>(), kLayers);
}

// A row depends only on its image, not on the pass.
TEST_F(StyleMixingTest, DependsOnlyOnTheImage) {
  StyleMixing mixing({.probability = 0.5, .num_layers = kLayers});
  const at::Tensor noise_NZ = torch::zeros({40, 6});
  const auto draw = [&](const at::Tensor& place, int64_t rows) {
    return mixing.ForwardGiven(noise_NZ.narrow(0, 0, rows), place,
                               ForwardMode::kTrain);
  };
  const at::Tensor whole = draw(Place(), 40);
  EXPECT_NEAR(whole.std().item<double>(), 1, 0.15);
  EXPECT_FALSE(at::equal(whole[0], whole[1]));
  EXPECT_TRUE(at::equal(draw(Place(30), 10), whole.slice(0, 30)));
  EXPECT_TRUE(at::equal(mixing.Begins(Place(30), 10),
                        mixing.Begins(Place(), 40).slice(0, 30)));
  EXPECT_FALSE(at::equal(draw(Place(0, /*step=*/6), 40), whole));
  mixing.named_buffers()["mixing_key"].fill_(7);
  EXPECT_FALSE(at::equal(draw(Place(), 40), whole));
}

// Checks how each kind of pass uses the state of a whole generator.
class StyleGeneratorTest : public ::testing::Test {
 protected:
  std::shared_ptr<Generator> Make(const std::string& more) {
    NetworkConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "stylegan2 { channel_base: 64 max_channels: 8 noise_dim: 5 "
        "            style_dim: 6 mapping_layers: 2 " +
            more + "}",
        &config));
    const auto made = MakeGenerator(config, {{1, 16, 16}});
    EXPECT_OK(made);
    InitializeParameters(**made, config, 7);
    return *made;
  }

  at::Tensor Pass(Generator& network, ForwardMode mode) {
    const torch::NoGradGuard no_grad;
    const at::Tensor noise_NZ =
        torch::linspace(-1, 1, 20).view({4, 5}).contiguous();
    return network.forward(
        noise_NZ,
        {.place = {.purpose = Purpose::kGeneratorNoise, .step = step_++}},
        mode);
  }

  int64_t step_ = 0;
};

TEST_F(StyleGeneratorTest, OnlyTrainingPassesChangeTheMean) {
  const auto network = Make("");
  const at::Tensor mean = network->named_buffers()["mapping.w_avg"];
  Pass(*network, ForwardMode::kFrozen);
  Pass(*network, ForwardMode::kEvaluate);
  EXPECT_EQ(mean.abs().max().item<float>(), 0);
  Pass(*network, ForwardMode::kTrain);
  EXPECT_GT(mean.abs().max().item<float>(), 0);
}

// The noise is the same in all passes, so only mixed styles could differ.
TEST_F(StyleGeneratorTest, EvaluationDoesNotMix) {
  const auto network = Make("mixing_probability: 1 ");
  EXPECT_FALSE(at::equal(Pass(*network, ForwardMode::kFrozen),
                         Pass(*network, ForwardMode::kFrozen)));
  EXPECT_TRUE(at::equal(Pass(*network, ForwardMode::kEvaluate),
                        Pass(*network, ForwardMode::kEvaluate)));
  const auto plain = Make("mixing_probability: 0 ");
  EXPECT_TRUE(at::equal(Pass(*plain, ForwardMode::kFrozen),
                        Pass(*plain, ForwardMode::kFrozen)));
  EXPECT_TRUE(at::equal(Pass(*plain, ForwardMode::kEvaluate),
                        Pass(*network, ForwardMode::kEvaluate)));
}

// psi = 0 gives the image of the mean style for any noise.
TEST_F(StyleGeneratorTest, PsiOneIsTheStyleItself) {
  const auto network = Make("");
  Pass(*network, ForwardMode::kTrain);
  const at::Tensor images = Pass(*network, ForwardMode::kEvaluate);
  EXPECT_FALSE(at::allclose(images[0], images[1]));
  EXPECT_TRUE(network->TruncateStyles(0));
  const at::Tensor mean = Pass(*network, ForwardMode::kEvaluate);
  EXPECT_TRUE(at::allclose(mean[0], mean[1], 1e-5, 1e-6));
  EXPECT_TRUE(network->TruncateStyles(1));
  EXPECT_TRUE(at::equal(Pass(*network, ForwardMode::kEvaluate), images));
}

}  // namespace
}  // namespace gandem
