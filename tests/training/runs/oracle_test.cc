// SPDX-License-Identifier: Apache-2.0
//
// Compares training with an independent PyTorch script
// (tests/oracles/training_goldens.py): whole runs in float64 from the same
// weights, noise and real images (design.md section 10.3). Colocated, also with
// frozen parameters and groups with their own learning rates, with ADA while
// its probability changes, and with StyleGAN2's path lengths; and AVERAGE_STATE
// (local SGD, local Adam) on three ranks of either role with slices of
// different sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/text_proto.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "discriminator_worker/discriminator_role.h"
#include "generator_worker/generator_role.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "tests/models/golden.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/status_matchers.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/objective/augment.h"
#include "training/optimizers/freeze_parameters.h"
#include "training/optimizers/make_optimizer.h"
#include "training/roles/run_roles.h"
#include "worker/exchange_ends.h"

namespace gandem {
namespace {

using gandem::testing::Golden;
using gandem::testing::MakeInProcessFleet;
using gandem::testing::RelativeError;

constexpr double kTolerance = 1e-8;  // relative L2, per tensor
constexpr char kGeneratorAdam[] =
    "adam { learning_rate: 1e-3 beta1: 0.5 beta2: 0.99 eps: 1e-5 }";
constexpr char kDiscriminatorAdam[] =
    "adam { learning_rate: 2e-3 beta1: 0 beta2: 0.9 eps: 1e-6 }";
// StyleGAN2's 2e-3 and 0.99 for k + 1 updates in k steps: k is 2 and 3.
constexpr char kStylegan2GeneratorAdam[] =
    "adam { learning_rate: 0.0013333333333333333 beta1: 0 beta2: "
    "0.99332217254950594 eps: 1e-8 }";
constexpr char kStylegan2DiscriminatorAdam[] =
    "adam { learning_rate: 0.0015 beta1: 0 beta2: 0.99249058571633497 eps: "
    "1e-8 }";

// Each term has a separate update.
const ObjectiveOptions kStylegan2Objective = {
    .penalties = {.r1 = 1, .gradient_every_steps = 3, .separate = true},
    .path_length = {.weight = 2, .every_steps = 2, .separate = true}};

struct OracleCase {
  std::string network;
  std::string name;
  int64_t lag = 0;
  ObjectiveOptions objective = {};
  int64_t micro_batch = 0;
  int ranks = 1;  // several: averaged at every second step
  // Optimizer of both roles, or of the generator alone. Empty: each role's
  // Adam.
  std::string optimizer = "";
  std::string discriminators = "";  // empty: same as `optimizer`
  bool fused = false;
  bool frozen = false;  // FrozenRole

  bool has_paths() const { return objective.path_length.weight > 0; }
};

void ExpectEqual(const Golden& golden, const std::string& prefix,
                 const torch::nn::Module& module) {
  for (const auto& [name, tensor] : StateOf(module)) {
    if (absl::EndsWith(name, "_key")) continue;  // PyTorch has no Philox keys
    EXPECT_LE(RelativeError(tensor, golden.Get(prefix + name)), kTolerance)
        << prefix << name;
  }
}

NetworkConfig NetworkOf(const std::string& name, bool generator) {
  const std::string text =
      name == "mlp"
          ? absl::StrCat("mlp { hidden: ",
                         generator ? "[8, 6] noise_dim: 6" : "[7, 5]", " }")
      : name == "stylegan2"
          ? "stylegan2 { channel_base: 32 max_channels: 4 noise_dim: 6 "
            "style_dim: 6 mapping_layers: 2 deviation_group: 2 }"
      : name == "r3gan" ? "r3gan { width: 4 groups: 2 blocks: 1 noise_dim: 6 }"
                        : absl::StrCat(name, " { width: 4 noise_dim: 6 }");
  NetworkConfig network;
  GANDEM_CHECK_OK(ParseTextProto(text, "network", network));
  return network;
}

// Returns the role config of cases with frozen parameters.
RoleConfig FrozenRole(const std::string& network, bool generator) {
  const std::string text =
      network == "mlp"
          ? (generator ? "freeze: 'main.2.*' optimizer { group { parameters: "
                         "'main.4.*' learning_rate_factor: 2 } }"
                       : "freeze: 'main.0.*' optimizer { group { parameters: "
                         "'*.bias' learning_rate_factor: 0.1 } }")
          : (generator ? "freeze: 'linear.*' optimizer { "
                         "group { parameters: 'main.*.weight' "
                         "learning_rate_factor: 0.5 } "
                         "group { parameters: 'main.*' "
                         "learning_rate_factor: 3 } }"
                       : "freeze: ['main.0.*', 'main.2.*', 'main.4.bias'] "
                         "optimizer { group { parameters: 'linear.*' "
                         "learning_rate_factor: 0.25 } }");
  RoleConfig role;
  GANDEM_CHECK_OK(ParseTextProto(text, "role", role));
  return role;
}

// A run of a case in this process.
class OracleRun {
 public:
  OracleRun(const OracleCase& test, const Golden& golden)
      : test_(test),
        golden_(golden),
        batch_(golden.Get("noise").size(1)),
        rounds_(golden.Get("noise").size(0)),
        gate_(0, rounds_),
        image_({.channels = golden.Get("real").size(-3),
                .height = golden.Get("real").size(-2),
                .width = golden.Get("real").size(-1)}),
        generator_fleet_(Fleet(/*seed=*/1)),
        discriminator_fleet_(Fleet(/*seed=*/2)) {}

  absl::Status Train() {
    if (test_.ranks == 1) {
      GANDEM_RETURN_IF_ERROR(AddEnds(COLOCATED, 0));
      TrainingRole* const roles[] = {AddGenerator(0), AddDiscriminator(0)};
      return RunRoles(roles, {});
    }
    std::vector<std::string> addresses;
    for (int rank = 0; rank < test_.ranks; ++rank) {
      GANDEM_RETURN_IF_ERROR(AddEnds(DISCRIMINATOR, rank));
      addresses.push_back(ends_.back()->address());
      AddDiscriminator(rank);
    }
    for (int rank = 0; rank < test_.ranks; ++rank) {
      GANDEM_RETURN_IF_ERROR(AddEnds(GENERATOR, rank));
      GANDEM_RETURN_IF_ERROR(
          ends_.back()->Connect(addresses, absl::InfinitePast()));
      AddGenerator(rank);
    }
    std::vector<absl::Status> results(roles_.size());
    {
      std::vector<Thread> threads;
      for (size_t i = 0; i < roles_.size(); ++i) {
        threads.emplace_back("role", [this, i, &results] {
          TrainingRole* const roles[] = {roles_[i].get()};
          results[i] = RunRoles(roles, {});
          if (!results[i].ok()) Close(results[i]);
        });
      }
    }
    for (const absl::Status& result : results) GANDEM_RETURN_IF_ERROR(result);
    return absl::OkStatus();
  }

  void ExpectGoldens() const {
    const bool alone = test_.ranks == 1;
    for (int rank = 0; rank < test_.ranks; ++rank) {
      const std::string end = alone ? "." : absl::StrCat(".", rank, ".");
      ExpectEqual(golden_, test_.name + ".generator" + end, *generators_[rank]);
      ExpectEqual(golden_, test_.name + ".discriminator" + end,
                  *discriminators_[rank]);
    }
    if (!alone) return;
    ExpectEqual(golden_, test_.name + ".average.", *average_);
    ASSERT_EQ(std::ssize(generator_losses_), rounds_);
    ASSERT_EQ(std::ssize(discriminator_losses_), rounds_);
    ASSERT_EQ(std::ssize(discriminator_ps_),
              golden_.Has(test_.name + ".p") ? rounds_ : 0);
    for (size_t round = 0; round < discriminator_ps_.size(); ++round) {
      EXPECT_NEAR(discriminator_ps_[round],
                  golden_.Get(test_.name + ".p")[static_cast<int64_t>(round)]
                      .item<double>(),
                  1e-12);
    }
    for (int64_t round = 0; round < rounds_; ++round) {
      const auto loss = [&](const char* part) {
        return golden_.Get(test_.name + ".loss_" + part)[round].item<double>();
      };
      EXPECT_NEAR(generator_losses_[round], loss("generator"), 1e-8);
      EXPECT_NEAR(discriminator_losses_[round],
                  golden_.Has(test_.name + ".loss_discriminator")
                      ? loss("discriminator")
                      : loss("real") + loss("generated"),
                  1e-8);
    }
  }

 private:
  std::vector<std::unique_ptr<Collective>> Fleet(uint64_t seed) const {
    if (test_.ranks == 1) return {};
    return MakeInProcessFleet(
        test_.ranks, {.max_delay = absl::Microseconds(200), .seed = seed});
  }
  // Judged where the images are: a snapshot would come from any rank.
  bool sends_gradients() const {
    return test_.ranks > 1 || test_.fused ||
           IsRelativistic(test_.objective.loss);
  }
  FeedbackMode feedback() const {
    if (test_.fused) return FeedbackMode::kFused;
    return sends_gradients() ? FeedbackMode::kImageGradient
                             : FeedbackMode::kSnapshot;
  }
  IndexRange SliceOf(int rank) const {
    return RankSlice(batch_, rank, test_.ranks);
  }
  TensorFormat Format() const {
    return {.encoding = Encoding::kFloat64,
            .channels = image_.channels,
            .height = image_.height,
            .width = image_.width};
  }
  RunPlan Plan() const {
    const RolePlan role = {.workers = test_.ranks,
                           .steps_to_agreement = test_.ranks == 1 ? 1 : 2};
    return {
        .exchange =
            {.schedule = {.lag = test_.lag,
                          .feedback = feedback(),
                          .generator_batch = batch_,
                          .discriminator_batch = batch_,
                          .generator_micro_batch = test_.micro_batch,
                          .discriminator_micro_batch = test_.micro_batch,
                          .real_first = !test_.fused ||
                                        IsRelativistic(test_.objective.loss)},
             .image_format = Format(),
             .feedback_format = sends_gradients() ? Format() : TensorFormat{},
             .num_generators = test_.ranks,
             .num_discriminators = test_.ranks,
             .discriminator_skew = test_.ranks == 1 ? 0 : 2},
        .objective = test_.objective,
        .generator = role,
        .discriminator = role};
  }
  RoleServices Services() {
    return {.gate = &gate_, .report = [this](const RoundMetrics& metrics) {
              if (test_.ranks > 1) return;  // uses threads
              (metrics.role() == GENERATOR ? generator_losses_
                                           : discriminator_losses_)
                  .push_back(metrics.loss());
              if (metrics.has_ada_p()) {
                discriminator_ps_.push_back(metrics.ada_p());
              }
            }};
  }

  absl::Status AddEnds(Role role, int rank) {
    GANDEM_ASSIGN_OR_RETURN(
        ends_.emplace_back(),
        ExchangeEnds::Create(role, ExchangeAt(Plan(), {.rank = rank}), {}));
    return absl::OkStatus();
  }

  std::unique_ptr<Optimizer> NewOptimizer(Role role,
                                          torch::nn::Module& network) const {
    const std::string adam =
        role == GENERATOR ? kGeneratorAdam : kDiscriminatorAdam;
    OptimizerConfig config;
    std::string text = test_.optimizer.empty() ? adam : test_.optimizer;
    if (role == DISCRIMINATOR && !test_.discriminators.empty()) {
      text = test_.discriminators;
    }
    GANDEM_CHECK_OK(ParseTextProto(text, "optimizer", config));
    if (test_.frozen) {
      const RoleConfig more = FrozenRole(test_.network, role == GENERATOR);
      config.MergeFrom(more.optimizer());
      const std::vector<std::string> freeze(more.freeze().begin(),
                                            more.freeze().end());
      GANDEM_CHECK_OK(
          FreezeParameters(Role_Name(role), freeze, config, network));
    }
    return MakeOptimizer(config, TrainedParametersOf(network), {});
  }
  template <typename Network>
  std::shared_ptr<Network> Started(std::shared_ptr<Network> network,
                                   const std::string& role) const {
    network->to(at::kDouble);
    golden_.LoadNetwork(absl::StrCat("initial.", role, "."), *network);
    return network;
  }
  std::shared_ptr<Generator> NewGenerator() const {
    return Started(
        *MakeGenerator(NetworkOf(test_.network, true), {.image = image_}),
        "generator");
  }
  std::shared_ptr<Discriminator> NewDiscriminator() const {
    auto network = Started(
        *MakeDiscriminator(NetworkOf(test_.network, false), {.image = image_}),
        "discriminator");
    AddAdaBuffer(test_.objective.augmentation.ada, *network);
    return network;
  }
  std::unique_ptr<GradientSynchronizer> NewSynchronizer(
      const std::vector<std::unique_ptr<Collective>>& fleet, int rank,
      const torch::nn::Module& network, const Optimizer& optimizer) const {
    if (fleet.empty()) return nullptr;
    return std::make_unique<GradientSynchronizer>(
        GradientSynchronizer::Options{
            .mode = GradientSynchronizer::Mode::kAverageState,
            .interval = 2,
            .bucket_bytes = 500,
            .divergence_check_interval = 2,
            .share = static_cast<double>(SliceOf(rank).count) /
                     static_cast<double>(batch_)},
        GradientSynchronizer::State{.parameters = ParametersOf(network),
                                    .buffers = BuffersOf(network),
                                    .optimizer = optimizer.State()},
        fleet[rank].get());
  }

  TrainingRole* AddGenerator(int rank) {
    const auto& network = generators_.emplace_back(NewGenerator());
    const auto average = NewGenerator();
    if (rank == 0) average_ = average;
    auto optimizer = NewOptimizer(GENERATOR, *network);
    auto synchronizer =
        NewSynchronizer(generator_fleet_, rank, *network, *optimizer);
    roles_.push_back(std::make_unique<GeneratorRole>(
        Plan(), EpochPlace{.rank = rank},
        GeneratorRole::Parts{
            .network = network,
            .average = average,
            .compute = {.dtype = at::kDouble},
            .new_critic = [this]() -> absl::StatusOr<Critic> {
              return Critic{.network = NewDiscriminator(),
                            .compute = {.dtype = at::kDouble}};
            },
            .ema = std::make_unique<Ema>(
                Ema::Options{.decay = 0.9, .start_round = 3}, *network,
                *average),
            .optimizer = std::move(optimizer),
            .synchronizer = std::move(synchronizer),
            .noise =
                [this](Purpose, int64_t step, IndexRange range) {
                  return golden_.Get("noise")[step]
                      .narrow(0, range.first, range.count)
                      .to(at::kDouble);
                },
            .path_penalty = test_.has_paths()
                                ? NewPathPenalty(test_.objective.path_length,
                                                 /*share=*/1, at::kCPU)
                                : nullptr,
            .path_direction =
                [this](Purpose, int64_t step, IndexRange range) {
                  return golden_.Get("direction")[step]
                      .narrow(0, range.first, range.count)
                      .to(at::kDouble);
                }},
        ends_.back()->generator(), Services()));
    return roles_.back().get();
  }

  TrainingRole* AddDiscriminator(int rank) {
    const auto& network = discriminators_.emplace_back(NewDiscriminator());
    auto optimizer = NewOptimizer(DISCRIMINATOR, *network);
    auto synchronizer =
        NewSynchronizer(discriminator_fleet_, rank, *network, *optimizer);
    const RealImageSource real_images =
        [this, rank](int64_t step, absl::Time) -> absl::StatusOr<RealImages> {
      const at::Tensor pool =
          golden_.Get("real").flatten(0, -4).to(at::kDouble);
      const int64_t first = step * batch_ + SliceOf(rank).first;
      return RealImages{.images_NCHW = pool.index_select(
                            0, torch::arange(first, first + SliceOf(rank).count)
                                   .remainder(pool.size(0)))};
    };
    roles_.push_back(std::make_unique<DiscriminatorRole>(
        Plan(), EpochPlace{.rank = rank},
        DiscriminatorRole::Parts{
            .network = network,
            .compute = {.dtype = at::kDouble},
            .optimizer = std::move(optimizer),
            .synchronizer = std::move(synchronizer),
            .real_images = real_images,
            .judging_images =
                IsRelativistic(test_.objective.loss) && !test_.fused
                    ? real_images
                    : RealImageSource()},
        ends_.back()->discriminator(), Services()));
    return roles_.back().get();
  }

  void Close(const absl::Status& reason) {
    for (const auto& ends : ends_) ends->Close(reason);
    for (const auto* fleet : {&generator_fleet_, &discriminator_fleet_}) {
      for (const auto& collective : *fleet) collective->Close(reason);
    }
  }

  const OracleCase& test_;
  const Golden& golden_;
  const int64_t batch_;
  const int64_t rounds_;
  RoundGate gate_;
  const ImageShape image_;
  const std::vector<std::unique_ptr<Collective>> generator_fleet_;
  const std::vector<std::unique_ptr<Collective>> discriminator_fleet_;
  std::vector<std::unique_ptr<ExchangeEnds>> ends_;
  std::vector<std::shared_ptr<Generator>> generators_;  // by rank
  std::vector<std::shared_ptr<Discriminator>> discriminators_;
  std::shared_ptr<Generator> average_;  // of rank 0
  std::vector<std::unique_ptr<TrainingRole>> roles_;
  std::vector<double> generator_losses_;
  std::vector<double> discriminator_losses_;
  std::vector<double> discriminator_ps_;  // ADA
};

std::string OracleCaseName(const ::testing::TestParamInfo<OracleCase>& info) {
  const OracleCase& test = info.param;
  return absl::StrCat(test.ranks > 1 ? "local" : test.network, "_", test.name,
                      test.objective.fused_in_one_pass ? "_in_one_pass" : "");
}

class OracleTest : public ::testing::TestWithParam<OracleCase> {};

TEST_P(OracleTest, WholeRunsInFloat64EqualTheOracle) {
  const bool is_local = GetParam().ranks > 1;
  const Golden golden(
      absl::StrCat("training/", GetParam().frozen ? "freeze_" : "",
                   GetParam().objective.augmentation.ada ? "ada_" : "",
                   is_local ? "local" : GetParam().network, ".safetensors"));
  OracleRun run(GetParam(), golden);
  ASSERT_OK(run.Train());
  run.ExpectGoldens();
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, OracleTest,
    ::testing::Values(
        OracleCase{.network = "dcgan", .name = "lag0_non_saturating", .lag = 0},
        OracleCase{.network = "dcgan", .name = "lag1_non_saturating", .lag = 1},
        OracleCase{.network = "dcgan",
                   .name = "lag1_hinge_micro_batches",
                   .lag = 1,
                   .objective = {.loss = HINGE},
                   .micro_batch = 2},
        OracleCase{
            .network = "stylegan2",
            .name = "lag0_non_saturating_path_length",
            .objective = {.path_length = {.weight = 2, .every_steps = 2}}},
        OracleCase{
            .network = "stylegan2",
            .name = "lag1_non_saturating_path_length",
            .lag = 1,
            .objective = {.path_length = {.weight = 2, .every_steps = 2}}},
        OracleCase{.network = "stylegan2",
                   .name = "lag0_reference",
                   .objective = kStylegan2Objective,
                   .optimizer = kStylegan2GeneratorAdam,
                   .discriminators = kStylegan2DiscriminatorAdam},
        OracleCase{.network = "stylegan2",
                   .name = "lag1_reference",
                   .lag = 1,
                   .objective = kStylegan2Objective,
                   .optimizer = kStylegan2GeneratorAdam,
                   .discriminators = kStylegan2DiscriminatorAdam},
        OracleCase{.network = "sndcgan",
                   .name = "lag0_hinge",
                   .lag = 0,
                   .objective = {.loss = HINGE}},
        OracleCase{
            .network = "sndcgan", .name = "lag1_non_saturating", .lag = 1},
        OracleCase{.network = "sngan", .name = "lag0_non_saturating", .lag = 0},
        OracleCase{.network = "sngan",
                   .name = "lag1_hinge",
                   .lag = 1,
                   .objective = {.loss = HINGE}},
        OracleCase{.network = "mlp",
                   .name = "lag0_least_squares_lecam",
                   .lag = 0,
                   .objective = {.loss = LEAST_SQUARES,
                                 .penalties = {.lecam = 0.3,
                                               .lecam_decay = 0.9,
                                               .lecam_start_step = 4}}},
        OracleCase{.network = "mlp",
                   .name = "lag0_least_squares_lecam_moves_first",
                   .lag = 0,
                   .objective = {.loss = LEAST_SQUARES,
                                 .penalties = {.lecam = 0.3,
                                               .lecam_decay = 0.9,
                                               .lecam_start_step = 4,
                                               .lecam_moves_first = true}}},
        OracleCase{.network = "mlp",
                   .name = "lag1_saturating_separate_r1",
                   .lag = 1,
                   .objective = {.loss = SATURATING,
                                 .penalties = {.r1 = 0.5,
                                               .gradient_every_steps = 3,
                                               .separate = true}}},
        OracleCase{
            .network = "mlp",
            .name = "lag1_saturating_lazy_r1",
            .lag = 1,
            .objective = {.loss = SATURATING,
                          .penalties = {.r1 = 0.5, .gradient_every_steps = 3}}},
        OracleCase{.network = "mlp",
                   .name = "lag1_relativistic_paired_r1_r2",
                   .lag = 1,
                   .objective = {.loss = RELATIVISTIC_PAIRED,
                                 .penalties = {.r1 = 0.5, .r2 = 0.25}}},
        OracleCase{.network = "mlp",
                   .name = "lag0_relativistic_average",
                   .lag = 0,
                   .objective = {.loss = RELATIVISTIC_AVERAGE}},
        OracleCase{.network = "mlp",
                   .name = "sgd",
                   .ranks = 3,
                   .optimizer = "sgd { learning_rate: 0.05 momentum: 0.5 }"},
        OracleCase{.network = "mlp",
                   .name = "adam",
                   .ranks = 3,
                   .optimizer = "adam { learning_rate: 2e-3 beta1: 0.5 "
                                "beta2: 0.9 eps: 1e-6 }"}),
    OracleCaseName);
// R3GAN (Huang et al. 2024, algorithm of Config E): a relativistic loss, and
// both penalties in every step.
INSTANTIATE_TEST_SUITE_P(
    R3gan, OracleTest,
    ::testing::Values(
        OracleCase{.network = "r3gan",
                   .name = "lag0_r1_r2",
                   .lag = 0,
                   .objective = {.loss = RELATIVISTIC_PAIRED,
                                 .penalties = {.r1 = 0.05, .r2 = 0.05}}},
        OracleCase{.network = "r3gan",
                   .name = "lag1_r1_r2",
                   .lag = 1,
                   .objective = {.loss = RELATIVISTIC_PAIRED,
                                 .penalties = {.r1 = 0.05, .r2 = 0.05}}},
        OracleCase{.network = "r3gan",
                   .name = "fused_r1_r2",
                   .lag = 1,
                   .objective = {.loss = RELATIVISTIC_PAIRED,
                                 .penalties = {.r1 = 0.05, .r2 = 0.05}},
                   .fused = true}),
    OracleCaseName);
// The training pass judges, in one backward pass if that is exact.
INSTANTIATE_TEST_SUITE_P(
    Fused, OracleTest,
    ::testing::Values(
        OracleCase{.network = "dcgan",
                   .name = "fused_non_saturating",
                   .lag = 1,
                   .fused = true},
        OracleCase{.network = "dcgan",
                   .name = "fused_hinge_micro_batches",
                   .lag = 1,
                   .objective = {.loss = HINGE},
                   .micro_batch = 2,
                   .fused = true},
        OracleCase{.network = "sndcgan",
                   .name = "fused_hinge",
                   .lag = 1,
                   .objective = {.loss = HINGE},
                   .fused = true},
        OracleCase{.network = "sndcgan",
                   .name = "fused_hinge",
                   .lag = 1,
                   .objective = {.loss = HINGE, .fused_in_one_pass = true},
                   .fused = true},
        OracleCase{.network = "sndcgan",
                   .name = "fused_non_saturating_micro_batches",
                   .lag = 1,
                   .micro_batch = 2,
                   .fused = true},
        OracleCase{.network = "sndcgan",
                   .name = "fused_non_saturating_micro_batches",
                   .lag = 1,
                   .objective = {.fused_in_one_pass = true},
                   .micro_batch = 2,
                   .fused = true},
        OracleCase{.network = "mlp",
                   .name = "fused_relativistic_paired_r1",
                   .lag = 1,
                   .objective = {.loss = RELATIVISTIC_PAIRED,
                                 .penalties = {.r1 = 0.5}},
                   .fused = true},
        OracleCase{
            .network = "mlp",
            .name = "fused_saturating_lazy_r1",
            .lag = 1,
            .objective = {.loss = SATURATING,
                          .penalties = {.r1 = 0.5, .gradient_every_steps = 3},
                          .fused_in_one_pass = true},
            .fused = true}),
    OracleCaseName);
// The values of ADA_START and the other ADA constants of the script.
constexpr AugmentOptions kOracleAda = {
    .ada = AdaOptions{
        .target = 0.2, .p = 0.5, .interval = 2, .images_to_full = 50}};
INSTANTIATE_TEST_SUITE_P(
    Ada, OracleTest,
    ::testing::Values(OracleCase{.network = "mlp",
                                 .name = "lag0_ada",
                                 .objective = {.augmentation = kOracleAda}},
                      OracleCase{.network = "mlp",
                                 .name = "lag1_ada",
                                 .lag = 1,
                                 .objective = {.loss = HINGE,
                                               .augmentation = kOracleAda}}),
    OracleCaseName);
// Image gradients pass through frozen layers, including penalties' second
// derivatives; spectral norm iterates in frozen layers.
INSTANTIATE_TEST_SUITE_P(
    Frozen, OracleTest,
    ::testing::Values(
        OracleCase{.network = "sndcgan",
                   .name = "frozen_lag0_hinge",
                   .objective = {.loss = HINGE},
                   .frozen = true},
        OracleCase{.network = "sndcgan",
                   .name = "frozen_fused_hinge",
                   .lag = 1,
                   .objective = {.loss = HINGE},
                   .fused = true,
                   .frozen = true},
        OracleCase{.network = "sndcgan",
                   .name = "frozen_fused_hinge",
                   .lag = 1,
                   .objective = {.loss = HINGE, .fused_in_one_pass = true},
                   .fused = true,
                   .frozen = true},
        OracleCase{
            .network = "mlp",
            .name = "frozen_lag1_saturating_lazy_r1",
            .lag = 1,
            .objective = {.loss = SATURATING,
                          .penalties = {.r1 = 0.5, .gradient_every_steps = 3}},
            .frozen = true},
        OracleCase{
            .network = "mlp",
            .name = "frozen_least_squares_r2_sgd",
            .objective = {.loss = LEAST_SQUARES, .penalties = {.r2 = 0.5}},
            .optimizer = "sgd { learning_rate: 0.02 momentum: 0.5 "
                         "weight_decay: 0.01 }",
            .frozen = true}),
    OracleCaseName);

}  // namespace
}  // namespace gandem
