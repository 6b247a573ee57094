// SPDX-License-Identifier: Apache-2.0
//
// Properties of all optimizers. optimizer_golden_test.cc checks their numbers.
#include "training/optimizers/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "common/files/text_proto.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::HasSubstr;

at::Tensor OptimizerRamp(at::IntArrayRef shape, int64_t step) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  const at::Tensor ints = torch::arange(count, torch::kInt64);
  return ((ints * step).remainder(17).to(torch::kFloat64) / 16 - 0.5)
      .view(shape);
}

// Two parameters, one of them a convolution kernel; deterministic gradients.
struct Toy {
  explicit Toy(const std::string& config,
               at::ScalarType dtype = torch::kFloat32)
      : kernel(OptimizerRamp({3, 4, 5, 5}, 7).to(dtype)),
        scale(OptimizerRamp({6}, 3).to(dtype)) {
    OptimizerConfig parsed;
    EXPECT_OK(ParseTextProto(config, "config", parsed));
    this->config = parsed;
    at::set_num_threads(1);
  }
  void Make() { optimizer = MakeOptimizer(config, Parameters(), use); }
  TensorsByName Parameters() const {
    return {{"kernel", kernel}, {"scale", scale}};
  }
  void SetGradients(int64_t step) {
    for (auto& [name, parameter] : Parameters()) {
      at::Tensor(parameter).mutable_grad() =
          (OptimizerRamp(parameter.sizes(), step + 2) * 4)
              .to(parameter.dtype());
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
  OptimizerUse use;
  at::Tensor kernel;
  at::Tensor scale;
  std::unique_ptr<Optimizer> optimizer;
};

class EveryOptimizerTest : public ::testing::TestWithParam<const char*> {};

// Fused loops run over contiguous memory.
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

TEST_P(EveryOptimizerTest, SavedStateRestoresTheRunToTheBit) {
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

TEST_P(EveryOptimizerTest, AMissingGradientNamesTheParameterAndChangesNothing) {
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

INSTANTIATE_TEST_SUITE_P(
    Families, EveryOptimizerTest,
    ::testing::Values("adam { beta1: 0.5 }", "adamw { beta1: 0.5 }", "sgd {}",
                      "sgd { momentum: 0.9 dampening: 0.5 }", "rmsprop {}",
                      "rmsprop { momentum: 0.5 centered: true eps: 0.01 }",
                      "adabelief {}", "radam { beta2: 0.9 }", "lars {}",
                      "lamb { beta1: 0.5 }", "adafactor { beta1: 0.5 }",
                      "lion {}", "adam { beta1: 0.5 } optimism: 1",
                      "adabelief {} optimism: 1 lookahead { period: 2 }"));

// LibTorch's foreach operations, used on devices other than the CPU, compute
// the same as the fused loop. Parameters with gaps in memory use the foreach
// operations on the CPU as well.
class BothWaysTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BothWaysTest, ForeachOperationsEqualTheFusedLoop) {
  Toy loop(GetParam(), torch::kFloat64);
  Toy foreach (GetParam(), torch::kFloat64);
  for (at::Tensor* tensor : {&foreach.kernel, &foreach.scale}) {
    *tensor = at::stack({*tensor, *tensor}, -1).select(-1, 0);
    ASSERT_FALSE(tensor->is_non_overlapping_and_dense());
  }
  loop.Make();
  foreach
    .Make();
  loop.Train(0, 8);
  foreach
    .Train(0, 8);
  EXPECT_TRUE(at::allclose(loop.kernel, foreach.kernel, 1e-12, 1e-14));
  EXPECT_TRUE(at::allclose(loop.scale, foreach.scale, 1e-12, 1e-14));
}

INSTANTIATE_TEST_SUITE_P(
    Families, BothWaysTest,
    ::testing::Values("rmsprop {}",
                      "rmsprop { momentum: 0.5 centered: true eps: 0.01 }",
                      "adabelief { weight_decay: 0.1 }", "radam { beta2: 0.9 }",
                      "lars {}", "lamb { beta1: 0.5 }",
                      "lion { weight_decay: 0.1 }",
                      "rmsprop {} optimism: 1 lookahead { period: 2 }"));

TEST(ThreadsTest, TheLoopGivesTheSameBitsOnAnyNumberOfThreads) {
  const auto train = [](int threads) {
    at::set_num_threads(threads);
    at::Tensor numbers = OptimizerRamp({300'001}, 7).to(torch::kFloat32);
    OptimizerConfig config;
    config.mutable_adabelief();
    const auto optimizer = MakeOptimizer(config, {{"x", numbers}}, {});
    for (int64_t step = 0; step < 3; ++step) {
      numbers.mutable_grad() =
          OptimizerRamp({300'001}, step + 2).to(torch::kFloat32);
      EXPECT_OK(optimizer->Step());
    }
    at::set_num_threads(1);
    return numbers;
  };
  const at::Tensor alone = train(1);
  EXPECT_FALSE(
      at::equal(alone, OptimizerRamp({300'001}, 7).to(torch::kFloat32)));
  EXPECT_TRUE(at::equal(train(3), alone));
}

double RateAtStep(const std::string& config, const OptimizerUse& use,
                  int64_t step) {
  Toy toy(config, torch::kFloat64);
  toy.use = use;
  toy.Make();
  toy.Train(0, step - 1);
  toy.SetGradients(step);
  toy.kernel.mutable_grad() = at::ones_like(toy.kernel);
  const at::Tensor before = toy.kernel.clone();
  EXPECT_OK(toy.optimizer->Step());
  EXPECT_NEAR((before - toy.kernel).mean().item<double>(),
              toy.optimizer->learning_rate(), 1e-12);
  return (before - toy.kernel).mean().item<double>();
}

TEST(OptimizerTest, TheRateFollowsTheScheduleByRounds) {
  const std::string config =
      "sgd { learning_rate: 2 } rate_schedule { shape: LINEAR warmup_rounds: 2 "
      "}";
  const OptimizerUse use{.rounds = 10, .steps_per_round = 3};
  EXPECT_NEAR(RateAtStep(config, use, 1), 2 * 0.5, 1e-12);
  EXPECT_NEAR(RateAtStep(config, use, 3), 2 * 0.5, 1e-12);
  EXPECT_NEAR(RateAtStep(config, use, 4), 2 * 0.9, 1e-12);
  EXPECT_NEAR(RateAtStep(config, use, 30), 2 * 0.1, 1e-12);
}

// Updates 1 and 2 are in step 0, updates 5 and 6 in step 3.
TEST(OptimizerTest, SecondUpdatesHaveTheRateOfTheirStep) {
  const std::string config =
      "sgd { learning_rate: 2 } rate_schedule { shape: LINEAR }";
  const OptimizerUse use{.rounds = 10, .lazy_every = 3};
  EXPECT_NEAR(RateAtStep(config, use, 2), 2 * 1.0, 1e-12);
  EXPECT_NEAR(RateAtStep(config, use, 3), 2 * 0.9, 1e-12);
  EXPECT_NEAR(RateAtStep(config, use, 5), 2 * 0.7, 1e-12);
  EXPECT_NEAR(RateAtStep(config, use, 6), 2 * 0.7, 1e-12);
}

TEST(OptimizerTest, TheRateFollowsTheBatchSize) {
  const OptimizerUse use{.batch_size = 256};
  EXPECT_NEAR(
      RateAtStep("sgd { learning_rate: 1 } batch_scaling: BATCH_SQRT", use, 1),
      2, 1e-12);
  EXPECT_NEAR(RateAtStep("sgd { learning_rate: 1 } batch_scaling: BATCH_LINEAR "
                         "base_batch_size: 128",
                         use, 1),
              2, 1e-12);
}

TEST(OptimizerTest, AResumedScheduleContinues) {
  const std::string config =
      "adam { beta1: 0.5 } rate_schedule { shape: COSINE }";
  Toy straight(config);
  Toy resumed(config);
  straight.use = resumed.use = {.rounds = 8};
  straight.Make();
  resumed.Make();
  straight.Train(0, 4);
  resumed.kernel.copy_(straight.kernel);
  const auto saved = straight.State();
  for (auto& [name, tensor] : resumed.State()) tensor.copy_(saved.at(name));
  straight.Train(4, 8);
  resumed.Train(4, 8);
  EXPECT_TRUE(at::equal(straight.kernel, resumed.kernel));
}

TEST(OptimizerTest, ZeroGradientsRemovesTheGradients) {
  Toy toy("");
  toy.Make();
  toy.SetGradients(0);
  toy.optimizer->ZeroGradients();
  EXPECT_FALSE(toy.kernel.grad().defined());
  EXPECT_FALSE(toy.optimizer->Step().ok());
}

TEST(OptimizerTest, TheDefaultFamilyIsAdam) {
  Toy none("");
  Toy adam("adam {}");
  none.Make();
  adam.Make();
  none.Train(0, 3);
  adam.Train(0, 3);
  EXPECT_TRUE(at::equal(none.kernel, adam.kernel));
}

// As in PyTorch's parameter groups, each parameter moves as in a separate
// optimizer with its own rate.
TEST(OptimizerTest, AGroupIsASeparateOptimizer) {
  for (const std::string family :
       {"adam { beta1: 0.5 weight_decay: 0.1 }", "adamw { weight_decay: 0.1 }",
        "sgd { momentum: 0.5 weight_decay: 0.1 }", "rmsprop {}",
        "adabelief { beta1: 0.5 }", "radam { beta2: 0.9 }", "lars {}",
        "lamb { beta1: 0.5 }", "adafactor {}", "lion { weight_decay: 0.1 }",
        "adam { beta1: 0.5 } optimism: 1 lookahead { period: 2 }"}) {
    SCOPED_TRACE(family);
    const std::string rest = family + " rate_schedule { shape: COSINE }";
    Toy grouped(rest +
                " group { parameters: 'ker*' learning_rate_factor: 0.25 } "
                "group { parameters: '*' learning_rate_factor: 3 }");
    Toy slow(rest + " group { parameters: '*' learning_rate_factor: 0.25 }");
    Toy fast(rest + " group { parameters: '*' learning_rate_factor: 3 }");
    for (Toy* const toy : {&grouped, &slow, &fast}) {
      toy->use = {.rounds = 10};
      toy->Make();
      toy->Train(0, 5);
    }
    EXPECT_TRUE(at::equal(grouped.kernel, slow.kernel));
    EXPECT_TRUE(at::equal(grouped.scale, fast.scale));
    EXPECT_FALSE(at::equal(slow.kernel, fast.kernel));
    EXPECT_EQ(grouped.State().size(), slow.State().size());
    EXPECT_EQ(grouped.optimizer->learning_rate(),
              slow.optimizer->learning_rate());
  }
}

TEST(OptimizerTest, AFactorMultipliesTheLearningRate) {
  Toy factor(
      "adam { learning_rate: 1e-3 beta1: 0.5 } "
      "group { parameters: '*' learning_rate_factor: 0.25 }");
  Toy plain("adam { learning_rate: 2.5e-4 beta1: 0.5 }");
  for (Toy* const toy : {&factor, &plain}) {
    toy->Make();
    toy->Train(0, 5);
  }
  EXPECT_TRUE(at::allclose(factor.kernel, plain.kernel, 1e-6, 1e-7));
  EXPECT_FALSE(at::equal(factor.kernel,
                         OptimizerRamp({3, 4, 5, 5}, 7).to(torch::kFloat32)));
}

TEST(OptimizerTest, AFactorOfOneChangesNoBit) {
  Toy grouped("adam {} group { parameters: 'kernel' }");
  Toy plain("adam {}");
  for (Toy* const toy : {&grouped, &plain}) {
    toy->Make();
    toy->Train(0, 5);
  }
  EXPECT_TRUE(at::equal(grouped.kernel, plain.kernel));
}

TEST(LayerwiseTest, ZeroTensorsAndGradientsHaveTheRatioOne) {
  for (const std::string family :
       {"lars { learning_rate: 0.5 skip_vectors: false }",
        "lamb { learning_rate: 0.5 skip_vectors: false }"}) {
    Toy toy(family, torch::kFloat64);
    toy.kernel.zero_();
    const at::Tensor scale = toy.scale.clone();
    toy.Make();
    toy.kernel.mutable_grad() = at::ones_like(toy.kernel);
    toy.scale.mutable_grad() = at::zeros_like(toy.scale);
    ASSERT_OK(toy.optimizer->Step());
    EXPECT_NEAR(toy.kernel.min().item<double>(), -0.5, 1e-5) << family;
    EXPECT_NEAR(toy.kernel.max().item<double>(), -0.5, 1e-5) << family;
    EXPECT_TRUE(at::equal(toy.scale, scale)) << family;
  }
}

TEST(LookaheadTest, SlowWeightsStartAtTheFirstStep) {
  const std::string config = "sgd {} lookahead { period: 2 rate: 0.1 }";
  Toy loaded(config);
  loaded.kernel.add_(1);
  loaded.Make();
  loaded.kernel.sub_(1);  // like loading a checkpoint
  Toy straight(config);
  straight.kernel.add_(1);
  straight.kernel.sub_(1);
  straight.Make();
  loaded.Train(0, 4);
  straight.Train(0, 4);
  EXPECT_TRUE(at::equal(loaded.kernel, straight.kernel));
}

// Autograd refuses a backward pass through values that were changed afterwards.
TEST(OptimizerTest, AFusedLoopCountsAsAChangeInPlace) {
  Toy toy("adabelief {}");
  toy.Make();
  const auto before = toy.kernel._version();
  toy.Train(0, 1);
  EXPECT_GT(toy.kernel._version(), before);
}

// In the bilinear game min_x max_y x * y, gradient steps spiral outwards, but
// optimistic steps (Daskalakis et al. 2018, section 2) and Lookahead
// (Chavdarova et al. 2021) reach the solution.
TEST(GameTest, OptimismAndLookaheadConvergeWhereGradientsDoNot) {
  const auto distance_after = [](const std::string& more) {
    const std::string config = "sgd { learning_rate: 0.1 } " + more;
    Toy x(config, torch::kFloat64);
    Toy y(config, torch::kFloat64);
    x.Make();
    y.Make();
    for (int step = 0; step < 600; ++step) {
      for (const auto& [own, other, sign] :
           {std::tuple(&x, &y, 1.0), std::tuple(&y, &x, -1.0)}) {
        own->kernel.mutable_grad() = sign * other->kernel;
        own->scale.mutable_grad() = sign * other->scale;
      }
      EXPECT_OK(x.optimizer->Step());
      EXPECT_OK(y.optimizer->Step());
    }
    return (x.kernel.norm() + y.kernel.norm()).item<double>();
  };
  const double start = 2 * Toy("").kernel.norm().item<double>();
  EXPECT_GT(distance_after(""), 10 * start);
  EXPECT_LT(distance_after("optimism: 1"), 0.2 * start);
  EXPECT_LT(distance_after("lookahead { period: 5 rate: 0.5 }"), 0.8 * start);
}

}  // namespace
}  // namespace gandem
