// SPDX-License-Identifier: Apache-2.0
//
// What all optimizers have in common; their numbers are checked by
// optimizer_golden_test.cc.
#include "training/optimizers/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>

#include "common/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

at::Tensor Ramp(at::IntArrayRef shape, int64_t step) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  const at::Tensor ints = torch::arange(count, torch::kInt64);
  return ((ints * step).remainder(17).to(torch::kFloat64) / 16 - 0.5)
      .view(shape);
}

// Two parameters, one of them an image kernel; deterministic gradients.
struct Toy {
  explicit Toy(const std::string& config,
               at::ScalarType dtype = torch::kFloat32)
      : kernel(Ramp({3, 4, 5, 5}, 7).to(dtype)), scale(Ramp({6}, 3).to(dtype)) {
    OptimizerConfig parsed;
    EXPECT_OK(ParseTextProto(config, "config", parsed));
    this->config = parsed;
    at::set_num_threads(1);
  }
  void Make() {
    auto made = MakeOptimizer(config, Parameters());
    ASSERT_OK(made);
    optimizer = *std::move(made);
  }
  TensorsByName Parameters() const {
    return {{"kernel", kernel}, {"scale", scale}};
  }
  void SetGradients(int64_t step) {
    for (auto& [name, parameter] : Parameters()) {
      at::Tensor(parameter).mutable_grad() =
          (Ramp(parameter.sizes(), step + 2) * 4).to(parameter.dtype());
    }
  }
  void Train(int64_t first, int64_t end) {
    for (int64_t step = first; step < end; ++step) {
      SetGradients(step);
      ASSERT_OK(optimizer->Step());
    }
  }
  std::map<std::string, at::Tensor> State() const {
    std::map<std::string, at::Tensor> state;
    for (const auto& [name, tensor] : optimizer->State()) state[name] = tensor;
    return state;
  }

  OptimizerConfig config;
  at::Tensor kernel;
  at::Tensor scale;
  std::unique_ptr<Optimizer> optimizer;
};

class EveryOptimizerTest : public ::testing::TestWithParam<const char*> {};

// Fused loops walk over plain memory, so strides that differ would be mixed up.
TEST_P(EveryOptimizerTest, MemoryLayoutsChangeNothing) {
  Toy plain(GetParam());
  Toy permuted(GetParam());
  permuted.kernel = permuted.kernel.contiguous(at::MemoryFormat::ChannelsLast);
  plain.Make();
  permuted.Make();
  for (int64_t step = 0; step < 6; ++step) {
    plain.SetGradients(step);
    permuted.SetGradients(step);
    if (step % 2 == 0) {
      at::Tensor& gradient = permuted.kernel.mutable_grad();
      gradient = gradient.contiguous(at::MemoryFormat::ChannelsLast);
    }
    ASSERT_OK(plain.optimizer->Step());
    ASSERT_OK(permuted.optimizer->Step());
  }
  EXPECT_TRUE(permuted.kernel.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::allclose(plain.kernel, permuted.kernel, 1e-5, 1e-6));
}

TEST_P(EveryOptimizerTest, StateRestoresTheRunToTheBit) {
  Toy straight(GetParam());
  straight.Make();
  straight.Train(0, 3);
  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensor] : straight.State()) {
    saved[name] = tensor.clone();
  }
  EXPECT_EQ(saved.at("step").item<int64_t>(), 3);

  Toy resumed(GetParam());
  resumed.Make();
  resumed.kernel.copy_(straight.kernel);
  resumed.scale.copy_(straight.scale);
  ASSERT_EQ(resumed.State().size(), saved.size());
  for (auto& [name, tensor] : resumed.State()) tensor.copy_(saved.at(name));
  straight.Train(3, 8);
  resumed.Train(3, 8);
  EXPECT_TRUE(at::equal(straight.kernel, resumed.kernel));
  EXPECT_TRUE(at::equal(straight.scale, resumed.scale));
}

TEST_P(EveryOptimizerTest, MissingGradientNamesTheParameterAndChangesNothing) {
  Toy toy(GetParam());
  toy.Make();
  toy.SetGradients(0);
  toy.scale.mutable_grad().reset();
  const at::Tensor before = toy.kernel.clone();
  EXPECT_THAT(toy.optimizer->Step(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("parameter scale has no")));
  EXPECT_TRUE(at::equal(toy.kernel, before));
  EXPECT_EQ(toy.State()["step"].item<int64_t>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Families, EveryOptimizerTest,
                         ::testing::Values("adam { beta1: 0.5 }",
                                           "adam { beta1: 0.5 } optimism: 1"));

TEST(OptimizerTest, ZeroGradientsForgets) {
  Toy toy("");
  toy.Make();
  toy.SetGradients(0);
  toy.optimizer->ZeroGradients();
  EXPECT_FALSE(toy.kernel.grad().defined());
  EXPECT_FALSE(toy.optimizer->Step().ok());
}

TEST(OptimizerTest, WithoutAFamilyItIsAdam) {
  Toy none("");
  Toy adam("adam {}");
  none.Make();
  adam.Make();
  none.Train(0, 3);
  adam.Train(0, 3);
  EXPECT_TRUE(at::equal(none.kernel, adam.kernel));
}

TEST(OptimizerTest, MakeNamesEveryFault) {
  const Toy toy("adam { learning_rate: -1 beta1: 1 eps: 0 } optimism: -1");
  EXPECT_THAT(MakeOptimizer(toy.config, toy.Parameters()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(
                           HasSubstr("adam.learning_rate -1"),
                           HasSubstr("adam.beta1 1 "), HasSubstr("adam.eps 0 "),
                           HasSubstr("optimism -1 is not in [0, 10]"))));
}

}  // namespace
}  // namespace gandem
