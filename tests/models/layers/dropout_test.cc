// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "models/layers/drawing_layer.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr double kRate = 0.3;

TEST(DropoutTest, TheRateIsDroppedAndTheMeanIsKept) {
  Dropout dropout(kRate);
  const at::Tensor out =
      dropout.forward(torch::ones({20, 50, 100}), ForwardMode::kTrain);
  const double kept = (out != 0).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(kept, 1 - kRate, 0.01);  // seven standard deviations
  EXPECT_NEAR(out.max().item<double>(), 1 / (1 - kRate), 1e-6);
  EXPECT_NEAR(out.mean().item<double>(), 1, 0.01);
}

at::Tensor MaskAt(Dropout& dropout, const DrawPlace& place, int64_t rows = 4,
                  ForwardMode mode = ForwardMode::kTrain) {
  return dropout.ForwardGiven(torch::ones({rows, 64}),
                              PlaceOf(Condition{.place = place}), mode);
}

TEST(DropoutTest, EachModeUsesItsDocumentedMasks) {
  Dropout dropout(kRate);
  const DrawPlace place = {
      .purpose = Purpose::kAugmentReal, .step = 5, .first_index = 2};
  const at::Tensor mask = MaskAt(dropout, place);
  EXPECT_FALSE(at::equal(mask[0], mask[1]));
  EXPECT_TRUE(at::equal(MaskAt(dropout, place), mask));
  EXPECT_TRUE(at::equal(MaskAt(dropout, place, 4, ForwardMode::kFrozen), mask));
  EXPECT_TRUE(at::equal(MaskAt(dropout, place, 4, ForwardMode::kEvaluate),
                        torch::ones({4, 64})));
}

// The row of a mask belongs to its image in any pass: ranks and micro-batches
// draw the same masks as one pass over the batch.
TEST(DropoutTest, RowsBelongToTheImagesOfTheBatch) {
  Dropout dropout(kRate);
  DrawPlace place = {.purpose = Purpose::kAugmentReal, .step = 5};
  const at::Tensor whole = MaskAt(dropout, place, /*rows=*/7);
  for (const int64_t first : {0, 3, 6}) {
    place.first_index = first;
    const int64_t rows = 7 - first;
    EXPECT_TRUE(
        at::equal(MaskAt(dropout, place, rows), whole.narrow(0, first, rows)));
  }
}

TEST(DropoutTest, StepsAndPurposesHaveDifferentMasks) {
  Dropout dropout(kRate);
  const DrawPlace place = {.purpose = Purpose::kAugmentReal, .step = 5};
  const at::Tensor mask = MaskAt(dropout, place);
  EXPECT_FALSE(at::equal(
      MaskAt(dropout, {.purpose = Purpose::kAugmentReal, .step = 6}), mask));
  EXPECT_FALSE(at::equal(
      MaskAt(dropout, {.purpose = Purpose::kAugmentGenerated, .step = 5}),
      mask));
}

// A rollback sets a salt. A network may contain the layer at any depth.
TEST(DropoutTest, ASaltChangesTheMasksButNoState) {
  const auto dropout = std::make_shared<Dropout>(kRate);
  const auto inner = std::make_shared<torch::nn::Module>();
  inner->register_module("dropout", dropout);
  const auto network = std::make_shared<torch::nn::Module>();
  network->register_module("inner", inner);
  const DrawPlace place = {.purpose = Purpose::kAugmentReal, .step = 5};
  const at::Tensor mask = MaskAt(*dropout, place);
  const at::Tensor key = dropout->named_buffers()["mask_key"].clone();
  SaltDraws(*network, 7);
  const at::Tensor salted = MaskAt(*dropout, place);
  EXPECT_FALSE(at::equal(salted, mask));
  EXPECT_TRUE(at::equal(MaskAt(*dropout, place), salted));
  EXPECT_TRUE(at::equal(dropout->named_buffers()["mask_key"], key));
  SaltDraws(*network, 8);
  EXPECT_FALSE(at::equal(MaskAt(*dropout, place), salted));
  SaltDraws(*network, 0);
  EXPECT_TRUE(at::equal(MaskAt(*dropout, place), mask));
}

// A critic or a resumed run has the masks of the original.
TEST(DropoutTest, MasksDependOnTheBufferOnly) {
  Dropout one(kRate);
  Dropout other(kRate);
  one.named_buffers()["mask_key"].fill_((int64_t{1} << 61) + 12345);
  other.named_buffers()["mask_key"].fill_((int64_t{1} << 61) + 12345);
  const at::Tensor ones = torch::ones({2, 64});
  torch::manual_seed(1);
  const at::Tensor want = one.forward(ones, ForwardMode::kTrain);
  torch::manual_seed(2);
  EXPECT_TRUE(at::equal(other.forward(ones, ForwardMode::kTrain), want));
  other.named_buffers()["mask_key"].fill_(7);
  EXPECT_FALSE(at::equal(other.forward(ones, ForwardMode::kTrain), want));
}

TEST(DropoutTest, ConversionKeepsEveryBitOfTheKey) {
  Dropout dropout(kRate);
  const int64_t key = (int64_t{1} << 61) + 12345;
  dropout.named_buffers()["mask_key"].fill_(key);
  dropout.to(torch::kFloat64);
  EXPECT_EQ(dropout.named_buffers()["mask_key"].item<int64_t>(), key);
  dropout.to(torch::kCPU, torch::kFloat32);
  EXPECT_EQ(dropout.named_buffers()["mask_key"].item<int64_t>(), key);
}

TEST(DropoutTest, GradientsPassThroughTheSameMask) {
  Dropout dropout(kRate);
  const at::Tensor x = torch::ones({2, 64}, torch::requires_grad());
  const at::Tensor out = dropout.forward(x, ForwardMode::kTrain);
  out.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), out.detach()));
}

}  // namespace
}  // namespace gandem
