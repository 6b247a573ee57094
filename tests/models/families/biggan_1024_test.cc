// SPDX-License-Identifier: Apache-2.0
//
// BigGAN for 1024 x 1024 pixels at its full width. The test is slow: the
// weights are 331 MB, and making them orthogonal takes time.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

TEST(Biggan1024Test, GeneratesAnImage) {
  NetworkConfig config;
  config.mutable_biggan();
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      MakeGenerator(config,
                    {.image = {.channels = 3, .height = 1024, .width = 1024},
                     .num_classes = 1000}));
  EXPECT_EQ(network->noise_dim(), 180);
  InitializeParameters(*network, config, 7);
  const torch::NoGradGuard no_grad;
  const at::Tensor noise_NZ = (torch::arange(180.0) * 0.7).sin().view({1, 180});
  const at::Tensor images_NCHW = network->forward(
      noise_NZ, {.labels_N = torch::tensor({207})}, ForwardMode::kFrozen);
  EXPECT_EQ(images_NCHW.sizes(), (at::IntArrayRef{1, 3, 1024, 1024}));
  EXPECT_TRUE(images_NCHW.isfinite().all().item<bool>());
  EXPECT_GT(images_NCHW.std().item<double>(), 0);
  EXPECT_LT(images_NCHW.abs().max().item<double>(), 1);
}

}  // namespace
}  // namespace gandem
