// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/closed_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scaling_manager/planner/simulation/simulated_run.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::kTick;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;

// A batch of 64 images of 4 KiB takes 1/8 s, a critic of 1 MiB 1/2 s.
constexpr double kSlowLink = 1 << 21;

struct PipelineCase {
  std::string name = {};
  std::vector<std::string> sets = {};
  double latency = 0;  // ticks
  double bytes_per_second = 1 << 30;
  double generator = 1;      // factor on its times
  double discriminator = 1;  // factor on its times
  double seconds = 0;        // ticks of a round, computed by hand; 0: none
};

class PipelineTest : public ::testing::TestWithParam<PipelineCase> {
 protected:
  static absl::StatusOr<RunShape> Shape() {
    const PipelineCase& param = GetParam();
    ProfileBuilder builder;
    builder.Scale(GENERATOR, param.generator)
        .Scale(DISCRIMINATOR, param.discriminator)
        .Fixed(OperationTime::UPDATE, 8192 * kTick)
        .Fixed(OperationTime::CAPTURE_CRITIC, 1024 * kTick)
        .Fixed(OperationTime::LOAD_CRITIC, 2048 * kTick);
    Machines machines = HostsOf(2, 1);
    machines.mutable_link()->set_bytes_per_second(param.bytes_per_second);
    machines.mutable_link()->set_latency_seconds(param.latency * kTick);
    // With SNAPSHOT, messages have the discriminator's parameters, 1 MiB.
    builder.profile().mutable_discriminator_state()->set_parameter_bytes(1
                                                                         << 20);
    return MakeRunShape(builder.Build(), machines, PlannedConfig(param.sets),
                        PlacementOf({"G a", "D b"}));
  }
};

TEST_P(PipelineTest, SimulationAgreesToTheLastBit) {
  ASSERT_OK_AND_ASSIGN(const RunShape shape, Shape());
  ASSERT_OK_AND_ASSIGN(const SimulatedRounds rounds, SimulateRun(shape, {}));
  const double formula =
      PipelineRoundSeconds(shape.schedule, PipelineTimesOf(shape));
  EXPECT_DOUBLE_EQ(rounds.round_seconds, formula);
  if (GetParam().seconds > 0) {
    EXPECT_DOUBLE_EQ(formula, GetParam().seconds * kTick);
  }
}

// With a batch of 64 the generator takes 64 (1000 + 2000 + 2000) + 8192 + 2048
// ticks, the discriminator 64 (3000 + 3000) + 8192 + 1024. Images are 256 KiB,
// 256 ticks at 2^30 bytes/s, the critic 1024.
constexpr double kG = 64 * 5000 + 8192 + 2048;
constexpr double kD = 64 * 6000 + 8192 + 1024;

INSTANTIATE_TEST_SUITE_P(
    Snapshot, PipelineTest,
    ::testing::Values(
        // Images arrive during 64 * 3000 ticks of training on real images.
        PipelineCase{.name = "Lag0",
                     .sets = {"schedule.lag=0"},
                     .seconds = kG + kD - 64 * 3000 + 256 + 1024},
        PipelineCase{.name = "Lag1", .sets = {"schedule.lag=1"}, .seconds = kD},
        PipelineCase{.name = "Lag1SlowLink",
                     .sets = {"schedule.lag=1"},
                     .bytes_per_second = kSlowLink},
        PipelineCase{.name = "Lag4SlowLink",
                     .sets = {"schedule.lag=4"},
                     .bytes_per_second = kSlowLink},
        // A critic takes 65,536 ticks plus its acknowledgment.
        PipelineCase{.name = "CriticsFromFar",
                     .sets = {"schedule.lag=2"},
                     .latency = 300000,
                     .bytes_per_second = 1 << 24,
                     .seconds = 65536 + 2 * 300000},
        // Images take 4 MiB.
        PipelineCase{.name = "ImagesFromFar",
                     .sets = {"schedule.lag=3", "data.image_size=128"},
                     .latency = 300000,
                     .bytes_per_second = 1 << 24,
                     .seconds = 262144 + 2 * 300000},
        PipelineCase{.name = "CriticsFillTheLink",
                     .sets = {"schedule.lag=8"},
                     .bytes_per_second = 1 << 20,
                     .seconds = 1 << 20},
        PipelineCase{.name = "GeneratorHeavy",
                     .sets = {"schedule.lag=1"},
                     .generator = 4,
                     .seconds = 4 * 64 * 5000 + 8192 + 2048},
        PipelineCase{.name = "DiscriminatorHeavy",
                     .sets = {"schedule.lag=1"},
                     .discriminator = 4,
                     .seconds = 4 * 64 * 6000 + 8192 + 1024},
        PipelineCase{
            .name = "TwoSteps",
            .sets = {"schedule.discriminator_steps_per_round=2",
                     "discriminator.batch_size=32", "schedule.lag=1"}}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Answers, PipelineTest,
    ::testing::Values(
        PipelineCase{
            .name = "ImageGradientLag0",
            .sets = {"schedule.feedback=IMAGE_GRADIENT", "schedule.lag=0"}},
        // Each role's round includes an answer of 64 * 2000.
        PipelineCase{
            .name = "ImageGradientLag1",
            .sets = {"schedule.feedback=IMAGE_GRADIENT", "schedule.lag=1"},
            .seconds = 64 * 8000 + 8192},
        PipelineCase{
            .name = "ImageGradientLag3SlowLink",
            .sets = {"schedule.feedback=IMAGE_GRADIENT", "schedule.lag=3"},
            .bytes_per_second = kSlowLink},
        PipelineCase{
            .name = "ImageGradientGeneratorHeavy",
            .sets = {"schedule.feedback=IMAGE_GRADIENT", "schedule.lag=2"},
            .latency = 5000,
            .generator = 4,
            .seconds = 4 * 64 * 3000 + 8192 + 64 * 2000 + 2 * 256 + 2 * 5000},
        // Without batch norm, the answer is sent at the end of one pass.
        PipelineCase{.name = "FusedOnePass",
                     .sets = {"schedule.feedback=FUSED"},
                     .seconds = 64 * 3000 + 8192 + 64 * 4000 + 2 * 256},
        PipelineCase{.name = "FusedTwoPasses",
                     .sets = {"schedule.feedback=FUSED",
                              "schedule.fused_backward=TWO_PASSES"},
                     .seconds = 64 * 7000 + 8192},
        PipelineCase{.name = "FusedSlowLink",
                     .sets = {"schedule.feedback=FUSED"},
                     .latency = 9000,
                     .bytes_per_second = kSlowLink}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gandem
