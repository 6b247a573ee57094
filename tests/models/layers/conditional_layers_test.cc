// SPDX-License-Identifier: Apache-2.0
//
// Layers of class-conditional networks: conditional batch norm, self-attention,
// embeddings, discriminator heads. Forward and backward passes of whole
// networks are compared with PyTorch in network_golden_test.cc.
#include <gtest/gtest.h>

#include "models/layers/conditional_batch_norm.h"
#include "models/layers/discriminator_head.h"
#include "models/layers/self_attention.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "tests/models/network_testing.h"

namespace gandem {
namespace {

using gandem::testing::CountBuffers;
using gandem::testing::CountParameters;
using gandem::testing::Ramp;

void FillWithRamps(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  module.to(torch::kFloat64);
  for (at::Tensor& parameter : module.parameters()) {
    parameter.copy_(Ramp(parameter.sizes()));
  }
}

TEST(ConditionalBatchNormTest, EachImageIsScaledAndShiftedByItsCondition) {
  ConditionalBatchNorm layer(3, {.condition_dim = 2});
  FillWithRamps(layer);
  const at::Tensor input = Ramp({4, 3, 2, 2});
  const at::Tensor condition_NA = Ramp({4, 2}) * 2;
  const at::Tensor output =
      layer.ForwardGiven(input, condition_NA, ForwardMode::kTrain);

  const auto parameters = layer.named_parameters();
  const at::Tensor gain_NC = condition_NA.mm(parameters["gain.weight"].t());
  const at::Tensor bias_NC = condition_NA.mm(parameters["bias.weight"].t());
  const at::Tensor normalized =
      at::batch_norm(input, {}, {}, {}, {}, true, 0.1, 1e-5, false);
  for (int64_t n = 0; n < 4; ++n) {
    for (int64_t c = 0; c < 3; ++c) {
      const at::Tensor want =
          normalized[n][c] * (1 + gain_NC[n][c]) + bias_NC[n][c];
      EXPECT_TRUE(at::allclose(output[n][c], want, 1e-12, 1e-14));
    }
  }
}

TEST(ConditionalBatchNormTest, EmbeddingsEqualALinearMapOfTheOneHotLabel) {
  ConditionalBatchNorm linear(3, {.condition_dim = 5});
  ConditionalBatchNorm embedding(3, {.condition_dim = 5, .per_class = true});
  FillWithRamps(linear);
  embedding.to(torch::kFloat64);
  {
    const torch::NoGradGuard no_grad;
    for (const char* name : {"gain.weight", "bias.weight"}) {
      embedding.named_parameters()[name].copy_(
          linear.named_parameters()[name].t());
    }
  }
  const at::Tensor input = Ramp({4, 3, 2, 2});
  const at::Tensor labels_N = torch::tensor({4, 0, 2, 4});
  EXPECT_TRUE(at::allclose(
      embedding.ForwardGiven(input, labels_N, ForwardMode::kTrain),
      linear.ForwardGiven(input, at::one_hot(labels_N, 5).to(torch::kFloat64),
                          ForwardMode::kTrain),
      1e-12, 1e-14));
}

TEST(ConditionalBatchNormTest, SpectralNormRequiresLinearMaps) {
  for (const bool per_class : {false, true}) {
    const ConditionalBatchNorm layer(
        3, {.spectral_norm = true, .condition_dim = 5, .per_class = per_class});
    EXPECT_EQ(CountBuffers(layer, "weight_u"), per_class ? 0 : 2 * 3);
    EXPECT_EQ(CountBuffers(layer, "weight_v"), per_class ? 0 : 2 * 5);
    EXPECT_EQ(CountParameters(layer), 2 * 3 * 5);
  }
}

TEST(ConditionalBatchNormTest, FrozenAndEvaluatePassesRecordNothing) {
  ConditionalBatchNorm layer(3, {.condition_dim = 2});
  FillWithRamps(layer);
  const at::Tensor input = Ramp({4, 3, 2, 2});
  const at::Tensor condition_NA = Ramp({4, 2});
  const at::Tensor frozen =
      layer.ForwardGiven(input, condition_NA, ForwardMode::kFrozen);
  layer.ForwardGiven(input, condition_NA, ForwardMode::kEvaluate);
  const auto buffers = layer.named_buffers();
  EXPECT_EQ(buffers["bn.num_batches_tracked"].item<int64_t>(), 0);
  EXPECT_EQ(buffers["bn.running_mean"].abs().max().item<double>(), 0);
  EXPECT_TRUE(at::equal(
      frozen, layer.ForwardGiven(input, condition_NA, ForwardMode::kTrain)));
  EXPECT_EQ(buffers["bn.num_batches_tracked"].item<int64_t>(), 1);
}

TEST(SelfAttentionTest, TheLayerStartsAsTheIdentity) {
  SelfAttention layer(16);
  FillWithRamps(layer);
  const torch::NoGradGuard no_grad;
  layer.named_parameters()["sigma"].zero_();
  const at::Tensor input = Ramp({2, 16, 4, 4});
  EXPECT_TRUE(at::equal(layer.forward(input, ForwardMode::kTrain), input));
}

// Computes one query pixel at a time from the paper's equations.
TEST(SelfAttentionTest, EachPixelAveragesTheValues) {
  SelfAttention layer(8);
  FillWithRamps(layer);
  const auto parameters = layer.named_parameters();
  const at::Tensor input = Ramp({1, 8, 4, 6});
  const at::Tensor query = at::conv2d(input, parameters["theta.weight"])[0];
  const at::Tensor keys =
      at::max_pool2d(at::conv2d(input, parameters["phi.weight"]), 2)[0].flatten(
          1);
  const at::Tensor values =
      at::max_pool2d(at::conv2d(input, parameters["g.weight"]), 2)[0].flatten(
          1);
  const at::Tensor output = layer.forward(input, ForwardMode::kTrain);
  const at::Tensor o = parameters["o.weight"].flatten(1);
  for (int64_t y = 0; y < 4; ++y) {
    for (int64_t x = 0; x < 6; ++x) {
      const at::Tensor at_pixel = query.select(1, y).select(1, x);
      const at::Tensor weights = keys.t().mv(at_pixel).softmax(0);
      const at::Tensor want = input[0].select(1, y).select(1, x) +
                              parameters["sigma"] * o.mv(values.mv(weights));
      EXPECT_TRUE(at::allclose(output[0].select(1, y).select(1, x), want, 1e-10,
                               1e-12));
    }
  }
}

TEST(SelfAttentionTest, ParametersAreCounted) {
  const SelfAttention layer(64, {.spectral_norm = true});
  EXPECT_EQ(CountParameters(layer), 64 * 64 * 5 / 4 + 1);
  EXPECT_EQ(CountBuffers(layer, "weight_u"), 64 * 7 / 4);
  EXPECT_EQ(CountBuffers(layer, "weight_v"), 64 * 7 / 2);
}

TEST(EmbeddingTest, SpectralNormAppliesToTheWholeTable) {
  Embedding layer({.num_classes = 4, .dim = 3, .spectral_norm = true});
  FillWithRamps(layer);
  const at::Tensor labels_N = torch::tensor({2, 2, 0});
  at::Tensor rows;
  for (int i = 0; i < 200; ++i) {
    rows = layer.forward(labels_N, ForwardMode::kTrain);
  }
  const at::Tensor table = layer.named_parameters()["weight"];
  const at::Tensor sigma = at::linalg_svdvals(table).max();
  EXPECT_TRUE(
      at::allclose(rows, table.index_select(0, labels_N) / sigma, 1e-9, 1e-12));
}

class HeadOwner : public torch::nn::Module {};

TEST(DiscriminatorHeadTest, ProjectionAddsTheInnerProduct) {
  HeadOwner owner;
  DiscriminatorHead head(owner, {.kind = DiscriminatorHead::Kind::kProjection,
                                 .features = 4,
                                 .num_classes = 3});
  FillWithRamps(owner);
  const at::Tensor features_NC = Ramp({2, 4}) + 0.3;
  const at::Tensor labels_N = torch::tensor({2, 0});
  const Verdict verdict =
      head.Judge(features_NC, {.labels_N = labels_N}, ForwardMode::kTrain);
  const auto parameters = owner.named_parameters();
  for (int64_t n = 0; n < 2; ++n) {
    const at::Tensor of_class =
        parameters["embedding.weight"][labels_N[n].item<int64_t>()];
    const at::Tensor want = features_NC[n].dot(parameters["linear.weight"][0]) +
                            parameters["linear.bias"][0] +
                            features_NC[n].dot(of_class);
    EXPECT_NEAR(verdict.logits.One()[n].item<double>(), want.item<double>(),
                1e-12);
  }
  EXPECT_FALSE(verdict.embeddings_NE.defined());
  EXPECT_FALSE(verdict.proxies_KE.defined());
}

TEST(DiscriminatorHeadTest, ContrastiveEmbeddingsAndProxiesHaveUnitLength) {
  HeadOwner owner;
  DiscriminatorHead head(owner, {.kind = DiscriminatorHead::Kind::kContrastive,
                                 .features = 4,
                                 .num_classes = 3,
                                 .embedding_dim = 5});
  FillWithRamps(owner);
  const at::Tensor features_NC = Ramp({2, 4}) + 0.3;
  const Verdict verdict = head.Judge(features_NC, {}, ForwardMode::kTrain);
  EXPECT_EQ(verdict.logits.One().sizes(), at::IntArrayRef{2});
  EXPECT_EQ(verdict.embeddings_NE.sizes(), (at::IntArrayRef{2, 5}));
  EXPECT_EQ(verdict.proxies_KE.sizes(), (at::IntArrayRef{3, 5}));
  const auto parameters = owner.named_parameters();
  const at::Tensor embeddings = at::linear(
      features_NC, parameters["linear2.weight"], parameters["linear2.bias"]);
  EXPECT_TRUE(at::allclose(
      verdict.embeddings_NE * embeddings.norm(2, {1}, true), embeddings));
  const at::Tensor& table = parameters["embedding.weight"];
  EXPECT_TRUE(
      at::allclose(verdict.proxies_KE * table.norm(2, {1}, true), table));
  for (const at::Tensor& rows : {verdict.embeddings_NE, verdict.proxies_KE}) {
    EXPECT_TRUE(at::allclose(rows.norm(2, {1}),
                             torch::ones({rows.size(0)}, torch::kFloat64)));
  }
}

}  // namespace
}  // namespace gandem
