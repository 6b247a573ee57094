// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "exchange/schedule.h"
#include "models/torch.h"
#include "training/roles/training_health.h"

namespace gandem {
namespace {

TEST(ImageMeterTest, MicroBatchesAreAdded) {
  const at::Tensor images =
      torch::tensor({0.0, 0.0, 1.0, 0.0, -1.0, 2.0}).view({3, 1, 1, 2});
  const at::Tensor gradient =
      torch::tensor({3.0, 4.0, 0.0, 0.0, 0.0, 12.0}).view({3, 1, 1, 2});
  ImageMeter meter;
  for (const IndexRange range : {IndexRange{0, 2}, IndexRange{2, 1}}) {
    meter.AddImages(images.narrow(0, range.first, range.count));
    meter.AddGradient(gradient.narrow(0, range.first, range.count),
                      /*batch=*/6);
  }
  RoundMetrics metrics;
  meter.Report(metrics);
  // The batch has 6 images; 3 of them have the squared gradients 25, 0 and 144.
  // Each gradient is a sixth of that of the image's own loss.
  EXPECT_NEAR(metrics.image_gradient_norm(), 6 * std::sqrt(169.0 / 3), 1e-4);
  // Squared differences from the first image: 1, and 1 and 4.
  EXPECT_NEAR(metrics.image_spread(), std::sqrt(6.0 / 4), 1e-6);
}

TEST(ImageMeterTest, ASingleImageHasNoSpread) {
  ImageMeter meter;
  meter.AddImages(torch::ones({1, 1, 2, 2}));
  meter.AddGradient(torch::zeros({1, 1, 2, 2}), 1);
  RoundMetrics metrics;
  meter.Report(metrics);
  EXPECT_EQ(metrics.image_gradient_norm(), 0);
  EXPECT_FALSE(metrics.has_image_spread());
}

TEST(ImageMeterTest, TheGraphIsUnchanged) {
  const at::Tensor noise = torch::ones({2, 1, 2, 2}, torch::requires_grad());
  const at::Tensor images = noise * 2;
  ImageMeter meter;
  meter.AddImages(images);
  images.sum().backward();
  EXPECT_TRUE(noise.grad().equal(torch::full({2, 1, 2, 2}, 2.0)));
}

}  // namespace
}  // namespace gandem
