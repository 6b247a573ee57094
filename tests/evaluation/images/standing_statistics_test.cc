// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/standing_statistics.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "models/foreign_network.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LoadedGenerator MakeLoaded(const std::string& network, int64_t num_classes) {
  LoadedGenerator loaded;
  RunConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      network, config.mutable_generator()->mutable_network()));
  config.mutable_data()->set_num_classes(num_classes);
  loaded.plan = MakeRunPlan(EffectiveRunConfig::OfValid(config));
  const NetworkPlan& plan = loaded.plan.generator.network;
  const auto made = MakeGenerator(plan.network, plan.data);
  EXPECT_OK(made);
  loaded.network = *made;
  InitializeParameters(*loaded.network, plan.network, 7);
  return loaded;
}

at::Tensor Buffer(const LoadedGenerator& loaded, const std::string& name) {
  return loaded.network->named_buffers()[name];
}

constexpr char kBiggan[] = "biggan { width: 4 }";
constexpr char kMean[] = "norm.running_mean";
constexpr char kStandingStatisticsCount[] = "norm.num_batches_tracked";

TEST(StandingStatisticsTest, AreGatheredAfresh) {
  LoadedGenerator loaded = MakeLoaded(kBiggan, 3);
  LoadedGenerator other = MakeLoaded(kBiggan, 3);
  {
    const torch::NoGradGuard no_grad;
    Buffer(other, kMean).fill_(17);
    Buffer(other, kStandingStatisticsCount).fill_(1000);
  }
  const StandingOptions options = {.steps = 5, .max_batch = 8};
  ASSERT_OK(UseStandingStatistics(options, 1, loaded));
  ASSERT_OK(UseStandingStatistics(options, 1, other));
  EXPECT_EQ(Buffer(loaded, kStandingStatisticsCount).item<int64_t>(), 5);
  EXPECT_GT(Buffer(loaded, kMean).abs().max().item<double>(), 0);
  // Earlier statistics do not matter, so all workers agree.
  for (const auto& item : loaded.network->named_buffers()) {
    EXPECT_TRUE(at::equal(item.value(), Buffer(other, item.key())))
        << item.key();
  }
}

// The momentum stays 0.1: after 100 batches nothing is left of the start.
TEST(StandingStatisticsTest, ApproachTheStatisticsOfTheGeneratorAsItIs) {
  LoadedGenerator loaded = MakeLoaded("dcgan { width: 4 }", 0);
  ASSERT_OK(UseStandingStatistics({.steps = 100, .max_batch = 64}, 1, loaded));
  // The first norm sees a linear map of standard normal noise.
  const at::Tensor weight = loaded.network->named_parameters()["main.0.weight"];
  const at::Tensor variance = weight.square().sum(0).mean({1, 2});
  const at::Tensor ratio = Buffer(loaded, "main.1.running_var") / variance;
  EXPECT_NEAR(ratio.mean().item<double>(), 1, 0.1);
}

TEST(StandingStatisticsTest, ZeroStepsLeaveTheAveragesOfTheTraining) {
  LoadedGenerator loaded = MakeLoaded(kBiggan, 3);
  {
    const torch::NoGradGuard no_grad;
    Buffer(loaded, kMean).fill_(17);
  }
  ASSERT_OK(UseStandingStatistics({}, 1, loaded));
  EXPECT_EQ(Buffer(loaded, kMean).min().item<double>(), 17);
}

TEST(StandingStatisticsTest, NeedBatchNorm) {
  LoadedGenerator loaded = MakeLoaded("mlp { hidden: 4 }", 0);
  EXPECT_THAT(
      UseStandingStatistics({.steps = 1}, 1, loaded),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no batch norm")));
}

// A user's generator with batch norm of its own.
class FakeOwnGenerator : public Generator, public GathersStatistics {
 public:
  explicit FakeOwnGenerator(bool has_batch_norm)
      : has_batch_norm_(has_batch_norm) {}

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    EXPECT_TRUE(is_reset_);
    EXPECT_EQ(mode, ForwardMode::kTrain);
    EXPECT_EQ(condition.place.step, static_cast<int64_t>(sizes.size()));
    sizes.push_back(noise_NZ.size(0));
    return torch::zeros({noise_NZ.size(0), 1, 8, 8});
  }
  int64_t noise_dim() const override { return 4; }
  bool GatherStatisticsAfresh() override {
    is_reset_ = has_batch_norm_;
    return has_batch_norm_;
  }

  std::vector<int64_t> sizes;

 private:
  const bool has_batch_norm_;
  bool is_reset_ = false;
};

TEST(StandingStatisticsTest, OwnBatchNormSeesNoBatchOfOneImage) {
  const auto network = std::make_shared<FakeOwnGenerator>(true);
  LoadedGenerator loaded;
  loaded.network = network;
  ASSERT_OK(UseStandingStatistics({.steps = 40, .max_batch = 3}, 1, loaded));
  EXPECT_THAT(network->sizes, SizeIs(40));
  EXPECT_EQ(std::ranges::min(network->sizes), 2);
  EXPECT_EQ(std::ranges::max(network->sizes), 3);
  EXPECT_THAT(UseStandingStatistics({.steps = 1, .max_batch = 1}, 1, loaded),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("standing_batch 1 is below 2")));
}

TEST(StandingStatisticsTest, NeedOwnBatchNorm) {
  const auto network = std::make_shared<FakeOwnGenerator>(false);
  LoadedGenerator loaded;
  loaded.network = network;
  EXPECT_THAT(
      UseStandingStatistics({.steps = 1}, 1, loaded),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no module")));
  EXPECT_THAT(network->sizes, SizeIs(0));
}

TEST(StandingStatisticsTest, OptionsAreChecked) {
  for (const StandingOptions& bad :
       {StandingOptions{.steps = -1}, StandingOptions{.max_batch = 0}}) {
    Faults faults("standing");
    CheckStanding(bad, faults);
    EXPECT_FALSE(faults.empty());
  }
  Faults faults("standing");
  CheckStanding({}, faults);
  EXPECT_TRUE(faults.empty());
}

}  // namespace
}  // namespace gandem
