// SPDX-License-Identifier: Apache-2.0
//
// Colocated training against an independent PyTorch script
// (tests/oracles/training_goldens.py): 20 rounds in float64 from the same
// weights, noise and real images (design.md section 10.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "discriminator_worker/discriminator_role.h"
#include "generator_worker/generator_role.h"
#include "models/registry/registry.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"
#include "training/compute/run_setup.h"
#include "training/optimizers/make_optimizer.h"
#include "training/roles/run_roles.h"
#include "worker/exchange_ends.h"

namespace gandem {
namespace {

using gandem::testing::Golden;
using gandem::testing::RelativeError;

constexpr int64_t kOracleRounds = 20;
constexpr int64_t kOracleBatch = 4;
constexpr double kTolerance = 1e-8;  // relative L2, per tensor

struct OracleCase {
  std::string network;
  std::string name;
  int64_t lag = 0;
  ObjectiveOptions objective = {};
  int64_t micro_batch = 0;
};

void ExpectEqual(const Golden& golden, const std::string& prefix,
                 const torch::nn::Module& module) {
  for (const auto& [name, tensor] : StateOf(module)) {
    EXPECT_LE(RelativeError(tensor, golden.Get(prefix + name)), kTolerance)
        << prefix << name;
  }
}

NetworkConfig NetworkOf(const std::string& name, bool generator) {
  NetworkConfig network;
  if (name == "dcgan") {
    network.mutable_dcgan()->set_width(4);
    network.mutable_dcgan()->set_noise_dim(6);
  } else if (name == "sndcgan") {
    network.mutable_sndcgan()->set_width(4);
    network.mutable_sndcgan()->set_noise_dim(6);
  } else if (name == "mlp") {
    for (const int64_t width :
         generator ? std::vector<int64_t>{8, 6} : std::vector<int64_t>{7, 5}) {
      network.mutable_mlp()->add_hidden(width);
    }
    network.mutable_mlp()->set_noise_dim(6);
  } else {
    network.mutable_sngan()->set_width(4);
    network.mutable_sngan()->set_noise_dim(6);
  }
  return network;
}

OptimizerConfig AdamOf(double rate, double beta1, double beta2, double eps) {
  OptimizerConfig config;
  AdamConfig& adam = *config.mutable_adam();
  adam.set_learning_rate(rate);
  adam.set_beta1(beta1);
  adam.set_beta2(beta2);
  adam.set_eps(eps);
  return config;
}

class OracleTest : public ::testing::TestWithParam<OracleCase> {};

TEST_P(OracleTest, TwentyRoundsInFloat64) {
  const OracleCase& test = GetParam();
  const Golden golden(absl::StrCat("training/", test.network, ".safetensors"));
  const ImageShape shape{.channels = golden.Get("real").size(1),
                         .height = golden.Get("real").size(2),
                         .width = golden.Get("real").size(3)};
  const Compute compute{.dtype = at::kDouble};
  const TensorFormat format{.encoding = Encoding::kFloat64,
                            .channels = shape.channels,
                            .height = shape.height,
                            .width = shape.width};
  const bool relativistic = IsRelativistic(test.objective.loss);
  const Schedule schedule{.lag = test.lag,
                          .feedback = relativistic
                                          ? FeedbackMode::kImageGradient
                                          : FeedbackMode::kSnapshot,
                          .generator_batch = kOracleBatch,
                          .discriminator_batch = kOracleBatch,
                          .generator_micro_batch = test.micro_batch,
                          .discriminator_micro_batch = test.micro_batch};
  const ExchangeOptions exchange{
      .schedule = schedule,
      .image_format = format,
      .feedback_format = relativistic ? format : TensorFormat{}};
  ASSERT_OK_AND_ASSIGN(const auto ends,
                       MakeExchangeEnds(COLOCATED, exchange, {}));

  const auto make_generator = [&] {
    auto made = *MakeGenerator(NetworkOf(test.network, true), {.image = shape});
    made->to(at::kDouble);
    golden.LoadNetwork("initial.generator.", *made);
    return made;
  };
  const auto make_discriminator = [&] {
    auto made =
        *MakeDiscriminator(NetworkOf(test.network, false), {.image = shape});
    made->to(at::kDouble);
    golden.LoadNetwork("initial.discriminator.", *made);
    return made;
  };
  const auto generator = make_generator();
  const auto average = make_generator();
  const auto discriminator = make_discriminator();

  RoundGate gate(0, kOracleRounds);
  std::vector<double> generator_losses;
  std::vector<double> discriminator_losses;
  const RoleServices services{
      .gate = &gate, .report = [&](const RoundMetrics& metrics) {
        (metrics.role() == GENERATOR ? generator_losses : discriminator_losses)
            .push_back(metrics.loss());
      }};
  ASSERT_OK_AND_ASSIGN(auto generator_adam,
                       MakeOptimizer(AdamOf(1e-3, 0.5, 0.99, 1e-5),
                                     ParametersOf(*generator), {}));
  GeneratorRole generator_role(
      {.schedule = schedule,
       .objective = test.objective,
       .compute = compute,
       .sent_format = format},
      {.network = generator,
       .average = average,
       .critic = make_discriminator(),
       .critic_compute = compute,
       .ema = std::make_unique<Ema>(
           Ema::Options{.decay = 0.9, .start_round = 3}, *generator, *average),
       .optimizer = std::move(generator_adam),
       .noise =
           [&](Purpose, int64_t step, IndexRange range) {
             return golden.Get("noise")[step]
                 .narrow(0, range.first, range.count)
                 .to(at::kDouble);
           }},
      ends->generator(), services);
  ASSERT_OK_AND_ASSIGN(auto discriminator_adam,
                       MakeOptimizer(AdamOf(2e-3, 0.0, 0.9, 1e-6),
                                     ParametersOf(*discriminator), {}));
  // Of a step of either role: their batches are of one size.
  const RealImageSource real_images =
      [&](int64_t step, absl::Time) -> absl::StatusOr<RealImages> {
    const at::Tensor real = golden.Get("real").to(at::kDouble);
    return RealImages{
        .images_NCHW = real.index_select(
            0, torch::arange(step * kOracleBatch, (step + 1) * kOracleBatch)
                   .remainder(real.size(0)))};
  };
  DiscriminatorRole discriminator_role(
      {.schedule = schedule,
       .objective = test.objective,
       .compute = compute,
       .sent_format = format},
      {.network = discriminator,
       .optimizer = std::move(discriminator_adam),
       .real_images = real_images,
       .judging_images = relativistic ? real_images : RealImageSource()},
      ends->discriminator(), services);

  TrainingRole* const roles[] = {&generator_role, &discriminator_role};
  ASSERT_OK(RunRoles(roles, {}));

  ExpectEqual(golden, test.name + ".generator.", *generator);
  ExpectEqual(golden, test.name + ".average.", *average);
  ExpectEqual(golden, test.name + ".discriminator.", *discriminator);
  ASSERT_EQ(generator_losses.size(), kOracleRounds);
  ASSERT_EQ(discriminator_losses.size(), kOracleRounds);
  for (int64_t round = 0; round < kOracleRounds; ++round) {
    const auto loss = [&](const char* part) {
      return golden.Get(test.name + ".loss_" + part)[round].item<double>();
    };
    EXPECT_NEAR(generator_losses[round], loss("generator"), 1e-8);
    EXPECT_NEAR(discriminator_losses[round],
                test.network == "mlp" ? loss("discriminator")
                                      : loss("real") + loss("generated"),
                1e-8);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, OracleTest,
    ::testing::Values(
        OracleCase{.network = "dcgan", .name = "lag0_non_saturating", .lag = 0},
        OracleCase{.network = "dcgan", .name = "lag1_non_saturating", .lag = 1},
        OracleCase{.network = "dcgan",
                   .name = "lag1_hinge_micro_batches",
                   .lag = 1,
                   .objective = {.loss = AdversarialLoss::kHinge},
                   .micro_batch = 2},
        OracleCase{.network = "sndcgan",
                   .name = "lag0_hinge",
                   .lag = 0,
                   .objective = {.loss = AdversarialLoss::kHinge}},
        OracleCase{
            .network = "sndcgan", .name = "lag1_non_saturating", .lag = 1},
        OracleCase{.network = "sngan", .name = "lag0_non_saturating", .lag = 0},
        OracleCase{.network = "sngan",
                   .name = "lag1_hinge",
                   .lag = 1,
                   .objective = {.loss = AdversarialLoss::kHinge}},
        OracleCase{.network = "mlp",
                   .name = "lag0_least_squares_lecam",
                   .lag = 0,
                   .objective = {.loss = AdversarialLoss::kLeastSquares,
                                 .penalties = {.lecam = 0.3,
                                               .lecam_decay = 0.9,
                                               .lecam_start_step = 4}}},
        OracleCase{
            .network = "mlp",
            .name = "lag1_saturating_lazy_r1",
            .lag = 1,
            .objective = {.loss = AdversarialLoss::kSaturating,
                          .penalties = {.r1 = 0.5, .gradient_every_steps = 3}}},
        OracleCase{.network = "mlp",
                   .name = "lag1_relativistic_paired_r1_r2",
                   .lag = 1,
                   .objective = {.loss = AdversarialLoss::kRelativisticPaired,
                                 .penalties = {.r1 = 0.5, .r2 = 0.25}}},
        OracleCase{
            .network = "mlp",
            .name = "lag0_relativistic_average",
            .lag = 0,
            .objective = {.loss = AdversarialLoss::kRelativisticAverage}}),
    [](const auto& info) {
      return info.param.network + "_" + info.param.name;
    });

}  // namespace
}  // namespace gandem
