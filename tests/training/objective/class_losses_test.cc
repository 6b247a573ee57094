// SPDX-License-Identifier: Apache-2.0
#include "training/objective/class_losses.h"

#include <gtest/gtest.h>

#include "models/network.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// Tests with the example of models.md 4.2.
class ClassLossesTest : public ::testing::Test {
 protected:
  static at::Tensor Numbers(const std::vector<double>& values) {
    return torch::tensor(values, torch::kFloat64);
  }
  static void ExpectNear(const at::Tensor& losses_N,
                         const std::vector<double>& expected, double mean) {
    EXPECT_LE((losses_N - Numbers(expected)).abs().max().item<double>(), 1e-6)
        << losses_N;
    EXPECT_NEAR(losses_N.mean().item<double>(), mean, 1e-6);
  }

  const at::Tensor embeddings_ =
      Numbers({1, 0, 0, 1, 0.8, 0.6, -1, 0}).view({4, 2});
  const at::Tensor proxies_ = Numbers({0.6, 0.8, 0, 1, 0, -1}).view({3, 2});
  const at::Tensor labels_ = torch::tensor({0, 1, 0, 2});
};

TEST_F(ClassLossesTest, TheContrastiveLossHasTheExpectedValue) {
  ExpectNear(ContrastiveLosses(embeddings_, proxies_, labels_, 1),
             {0.291134, 0.877998, 0.384974, 1.035746}, 0.647463);
  ExpectNear(ContrastiveLosses(embeddings_, proxies_, labels_, 0.5),
             {0.128597, 0.542324, 0.261699, 0.848967}, 0.445397);
}

TEST_F(ClassLossesTest, TheD2dLossHasTheExpectedValue) {
  ExpectNear(
      D2dCrossEntropyLosses(embeddings_, proxies_, labels_, 0.5, 0.98, true),
      {0.641147, 0.965832, 0.650442, 3.142736}, 1.350039);
  ExpectNear(
      D2dCrossEntropyLosses(embeddings_, proxies_, labels_, 0.5, 0.98, false),
      {1.663273, 1.822924, 1.679137, 3.104496}, 2.067458);
}

// All images are of other classes, or all are of the same class.
TEST_F(ClassLossesTest, GradientsStayFiniteIfASumIsEmpty) {
  for (const at::Tensor& labels : {torch::tensor({0, 1, 2, 0}).narrow(0, 0, 3),
                                   torch::tensor({1, 1, 1})}) {
    for (const bool contrastive : {true, false}) {
      const at::Tensor leaf =
          embeddings_.narrow(0, 0, 3).clone().set_requires_grad(true);
      (contrastive
           ? ContrastiveLosses(leaf, proxies_, labels, 1)
           : D2dCrossEntropyLosses(leaf, proxies_, labels, 0.5, 0.98, true))
          .mean()
          .backward();
      EXPECT_TRUE(leaf.grad().isfinite().all().item<bool>());
    }
  }
}

TEST_F(ClassLossesTest, TheWeightAndTheFamilyAreApplied) {
  ClassLossConfig config;
  config.set_family(ClassLossConfig::CONTRASTIVE);
  config.set_weight(0.5);
  const Verdict verdict{.logits = torch::zeros({4}),
                        .embeddings_NE = embeddings_,
                        .proxies_KE = proxies_};
  EXPECT_NEAR(ClassLoss(ClassLossFrom(config), verdict, labels_).item<double>(),
              0.5 * 0.647463, 1e-6);
  config.set_family(ClassLossConfig::D2D_CE);
  config.set_temperature(0.5);
  EXPECT_NEAR(ClassLoss(ClassLossFrom(config), verdict, labels_).item<double>(),
              0.5 * 1.350039, 1e-6);
}

TEST_F(ClassLossesTest, EmbeddingsAndLabelsAreRequired) {
  const ClassLossOptions options{.family = ClassLossConfig::CONTRASTIVE};
  EXPECT_THROW(ClassLoss(options, {.logits = torch::zeros({4})}, labels_),
               c10::Error);
  EXPECT_THROW(ClassLoss(options,
                         {.logits = torch::zeros({4}),
                          .embeddings_NE = embeddings_,
                          .proxies_KE = proxies_},
                         at::Tensor()),
               c10::Error);
}

}  // namespace
}  // namespace gandem
