// SPDX-License-Identifier: Apache-2.0
//
// The family `stylegan2`: faults of recipes, and initial values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::ParseNetwork;
using gandem::testing::SquareImages;
using gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr DataShape kInitializeData = {
    .image = {.channels = 1, .height = 32, .width = 32}};

TEST(Stylegan2Test, RefusesWhatDoesNotFit) {
  const struct {
    const char* config;
    int64_t size;
    const char* fault;
  } kCases[] = {
      {"stylegan2 {}", 48, "stylegan2 is for images of 8 x 8 or 16 x 16 or"},
      {"stylegan2 { channel_base: 32 }", 64,
       "channel_base 32 leaves no channel for images of 64: at least 64"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(
        MakeDiscriminator(ParseNetwork(c.config), SquareImages(3, c.size))
            .status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.fault)))
        << c.config;
  }
}

// Weights start as N(0, 1) divided by the rate, styles at 1, and the strength
// of noise at 0.
TEST(Stylegan2Test, HasEqualRates) {
  const NetworkConfig config =
      ParseNetwork("stylegan2 { channel_base: 2048 max_channels: 64 }");
  const auto generator = MakeGenerator(config, kInitializeData);
  ASSERT_OK(generator);
  InitializeParameters(**generator, config, 7);
  const auto parameters = (*generator)->named_parameters();
  const auto buffers = (*generator)->named_buffers();
  const auto expect = [](const at::Tensor& weight, double deviation) {
    EXPECT_NEAR(weight.std().item<double>(), deviation, 0.05 * deviation);
  };
  expect(parameters["mapping.fc0.weight"], 100);
  expect(parameters["basis.weight"], 1);
  expect(parameters["b8.conv0.conv.weight"], 1);
  expect(parameters["b8.conv0.conv.affine.weight"], 1);
  expect(buffers["b32.conv1.noise.noise_const"], 1);
  EXPECT_TRUE(
      at::equal(parameters["b8.conv0.conv.affine.bias"], torch::ones({64})));
  EXPECT_EQ(parameters["b8.conv0.noise.strength"].item<float>(), 0);
  EXPECT_GT(buffers["b8.conv0.noise.noise_key"].item<int64_t>(), 0);
  EXPECT_NE(buffers["b8.conv0.noise.noise_key"].item<int64_t>(),
            buffers["b8.conv1.noise.noise_key"].item<int64_t>());
  EXPECT_GT(buffers["mixing.mixing_key"].item<int64_t>(), 0);
  EXPECT_EQ(buffers["mapping.w_avg"].abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace gandem
