// SPDX-License-Identifier: Apache-2.0
//
// Compares 100 steps of every optimizer in float64 with PyTorch, or with a
// NumPy script written from the paper (tests/oracles/optimizer_goldens.py).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/files/text_proto.h"
#include "models/torch.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

using gandem::testing::Golden;
using gandem::testing::RelativeError;

class OptimizerGoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  OptimizerConfig Config() const {
    const at::Tensor bytes = golden_.Get(Name("config"));
    std::string text;
    for (int64_t i = 0; i < bytes.numel(); ++i) {
      text.push_back(static_cast<char>(bytes[i].item<double>()));
    }
    OptimizerConfig config;
    EXPECT_OK(ParseTextProto(text, GetParam(), config));
    return config;
  }

  // Trains `parameters` from the golden file's start and compares.
  void Check(TensorsByName parameters) {
    const torch::NoGradGuard no_grad;
    at::set_num_threads(1);
    for (auto& [name, parameter] : parameters) {
      parameter.copy_(golden_.Get("initial." + name));
    }
    const auto optimizer = MakeOptimizer(Config(), parameters, {});
    for (int step = 0; step < 100; ++step) {
      for (auto& [name, parameter] : parameters) {
        parameter.mutable_grad() =
            golden_.Get("noise." + name)[step] + 0.3 * parameter;
      }
      ASSERT_OK(optimizer->Step());
    }
    for (auto& [name, parameter] : parameters) {
      EXPECT_LE(RelativeError(parameter, golden_.Get(Name(name))), 1e-9)
          << name;
    }
  }

  at::Tensor Zeros(const std::string& name) const {
    return at::zeros_like(golden_.Get("initial." + name));
  }
  std::string Name(const std::string& tensor) const {
    return std::string(GetParam()) + "." + tensor;
  }

  const Golden golden_{"optimizers.safetensors"};
};

TEST_P(OptimizerGoldenTest, HundredStepsEqualTheOracle) {
  Check({{"kernel", Zeros("kernel")}, {"scale", Zeros("scale")}});
}

INSTANTIATE_TEST_SUITE_P(
    Cases, OptimizerGoldenTest,
    ::testing::Values(
        "adam", "adam_no_momentum", "adam_r3gan", "adam_l2", "adamw", "sgd",
        "sgd_momentum", "sgd_nesterov", "rmsprop", "rmsprop_l2_momentum",
        "rmsprop_centered", "rmsprop_centered_momentum", "rmsprop_eps_inside",
        "radam", "radam_l2", "radam_decoupled", "adabelief",
        "adabelief_eps_outside", "adabelief_eps_inside",
        "adabelief_uncorrected", "adabelief_decoupled", "adabelief_l2",
        "adabelief_rectified", "lars", "lars_skip_vectors", "lamb",
        "lamb_uncorrected", "lamb_skip_vectors", "lion", "adafactor",
        "adafactor_absolute", "adafactor_momentum", "adafactor_decay",
        "optimistic_adam", "half_optimistic_adam", "lookahead_adam",
        "lookahead_optimistic_sgd"),
    [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gandem
