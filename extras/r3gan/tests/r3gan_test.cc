// SPDX-License-Identifier: Apache-2.0
//
// The family `r3gan`: faults of recipes, and initial values.
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

TEST(R3ganTest, RefusesWhatDoesNotFit) {
  const struct {
    const char* config;
    int64_t size;
    const char* fault;
  } kCases[] = {
      {"r3gan {}", 128, "r3gan is for images of 32 x 32 or 64 x 64 or 256"},
      {"r3gan { widest_until: 24 }", 32,
       "widest_until 24 is not a power of two of at least 4"},
      {"r3gan { width: 60 groups: 12 }", 256,
       "r3gan.width 60 is not a multiple of 8: above 32 pixels "
       "(widest_until) it is halved 3 times for images of 256"},
      {"r3gan { width: 64 groups: 4 }", 256,
       "r3gan.groups 4 is not a multiple of 8"},
      {"r3gan { width: 64 groups: 48 }", 32,
       "groups 48 does not divide the 128 channels of twice the width"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(
        MakeDiscriminator(ParseNetwork(c.config), SquareImages(3, c.size))
            .status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.fault)))
        << c.config;
  }
}

// Weights start as N(0, gain / sqrt(fan in)), and the last convolution of every
// block at 0. The reference program has the gain sqrt(2 / 1.04) * 8^(-1/4) for
// 8 blocks.
TEST(R3ganTest, InitiallyComputesTheShortcuts) {
  const NetworkConfig config = ParseNetwork("r3gan { width: 64 groups: 8 }");
  const DataShape data = {.image = kInitializeData.image, .num_classes = 100};
  const auto generator = MakeGenerator(config, data);
  ASSERT_OK(generator);
  InitializeParameters(**generator, config, 7);
  const auto expect = [](const at::Tensor& weight, double deviation) {
    EXPECT_NEAR(weight.mean().item<double>(), 0, 0.1 * deviation);
    EXPECT_NEAR(weight.std().item<double>(), deviation, 0.05 * deviation);
  };
  const double gain = 0.824567;
  const auto of_generator = (*generator)->named_parameters();
  expect(of_generator["embedding.weight"], 1 / std::sqrt(100));
  expect(of_generator["basis.weight"], 1);
  expect(of_generator["basis.linear.weight"], 1 / std::sqrt(128));
  expect(of_generator["main.0.main.0.weight"], gain / std::sqrt(64));
  expect(of_generator["main.0.main.2.weight"], gain / std::sqrt(16 * 9));
  EXPECT_EQ(of_generator["main.0.main.4.weight"].abs().max().item<float>(), 0);
  EXPECT_EQ(of_generator["main.0.main.0.bias"].abs().max().item<float>(), 0);

  const auto discriminator = MakeDiscriminator(config, data);
  ASSERT_OK(discriminator);
  InitializeParameters(**discriminator, config, 7);
  const auto of_discriminator = (*discriminator)->named_parameters();
  expect(of_discriminator["embedding.weight"], 1 / std::sqrt(64 * 100));
  expect(of_discriminator["linear.weight"], 1 / std::sqrt(64));
  expect(of_discriminator["main.12.weight"], 1.0 / 4);  // 4x4 of one channel
}

}  // namespace
}  // namespace gandem
