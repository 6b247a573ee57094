// SPDX-License-Identifier: Apache-2.0
//
// 100 steps in float64 against PyTorch (tests/oracles/adam_goldens.py).
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <string>

#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"
#include "training/adam.h"

namespace gandem {
namespace {

using testing::Golden;
using testing::RelativeError;

class AdamGoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(AdamGoldenTest, EqualsPyTorchOver100Steps) {
  const Golden golden("adam.safetensors");
  const std::string prefix = std::string(GetParam()) + ".";
  const at::Tensor options = golden.Get(prefix + "options");
  torch::nn::Module network;
  std::map<std::string, at::Tensor> gradients;
  for (const std::string name : {"kernel", "scale"}) {
    network.register_parameter(name, golden.Get("initial." + name));
    gradients[name] = golden.Get("gradients." + name);
  }
  ASSERT_OK_AND_ASSIGN(const auto adam,
                       Adam::Create({.learning_rate = options[0].item<double>(),
                                     .beta1 = options[1].item<double>(),
                                     .beta2 = options[2].item<double>(),
                                     .eps = options[3].item<double>(),
                                     .weight_decay = options[4].item<double>()},
                                    network));
  for (int step = 0; step < 100; ++step) {
    for (auto& item : network.named_parameters()) {
      item.value().mutable_grad() = gradients.at(item.key())[step].clone();
    }
    ASSERT_OK(adam->Step());
  }
  for (const auto& item : network.named_parameters()) {
    EXPECT_LE(RelativeError(item.value(), golden.Get(prefix + item.key())),
              1e-9)
        << item.key();
  }
  for (const auto& [name, tensor] : adam->State()) {
    if (name == "step") continue;
    EXPECT_LE(RelativeError(tensor, golden.Get(prefix + name)), 1e-9) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AdamGoldenTest,
                         ::testing::Values("classic", "half", "no_momentum",
                                           "decayed"));

}  // namespace
}  // namespace gandem
