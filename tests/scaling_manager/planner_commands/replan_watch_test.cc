// SPDX-License-Identifier: Apache-2.0
//
// A run of one worker a role, whose discriminator is so heavy that a second one
// is predicted to help, by metrics that are made up: no clock has a say.
#include "scaling_manager/planner_commands/replan_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "scaling_manager/planner/predict.h"
#include "scaling_manager/planner_commands/plan_command.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::testing::StartsWith;

constexpr char kOneEach[] = "1 generator and 1 discriminator workers";
constexpr char kTwoDiscriminators[] = "1 generator and 2 discriminator workers";

class ReplanWatchTest : public ::testing::Test {
 protected:
  ReplanWatchTest() : profile_(Planted()) {
    Candidate& first = *plan_.add_candidates();
    *first.mutable_config() =
        PlannedConfig({"generator.threads=1", "discriminator.threads=1"});
    *first.mutable_placement() = PlacementOf({"G a", "D a"});
    *plan_.mutable_machines() = HostsOf(1, 3);
    auto prediction =
        Predict(profile_, plan_.machines(), first.config(), first.placement());
    EXPECT_OK(prediction);
    if (prediction.ok()) *first.mutable_prediction() = *prediction;
    running_ = first;
  }

  static Profile Planted() {
    ProfileBuilder builder;
    builder.Scale(DISCRIMINATOR, 4);
    return builder.Build();
  }

  ReplanWatch Watch() { return ReplanWatch(plan_, profile_, RealModels()); }

  // Three rounds of all ranks that take `times_predicted` as long as predicted,
  // then a checkpoint.
  std::optional<ReplanWatch::Proposal> Checkpoint(ReplanWatch& watch,
                                                  double times_predicted) {
    const Prediction& predicted = running_.prediction();
    const double seconds = times_predicted * predicted.round_seconds();
    for (int round = 0; round < 3; ++round) {
      RoundMetrics metrics;
      metrics.set_round_seconds(seconds);
      metrics.set_role(GENERATOR);
      metrics.set_wait_feedback_seconds(seconds * predicted.generator_wait());
      metrics.set_images(64);
      watch.Add(metrics);
      metrics.set_role(DISCRIMINATOR);
      metrics.clear_wait_feedback_seconds();
      metrics.set_wait_images_seconds(seconds * predicted.discriminator_wait());
      const int ranks = running_.config().discriminator().workers();
      metrics.set_images(64 / ranks);
      for (int rank = 0; rank < ranks; ++rank) watch.Add(metrics);
    }
    return watch.Check();
  }

  void Enter(ReplanWatch& watch, const Candidate& candidate) {
    watch.Enter(candidate);
    running_ = candidate;
  }

  const Profile profile_;
  Plan plan_;
  Candidate running_;
};

// However fast the machine is: what it measures corrects all shapes.
TEST_F(ReplanWatchTest, ProposesABetterShapeAfterTwoChecksInARow) {
  for (const double times_predicted : {0.01, 1.0, 50.0}) {
    ReplanWatch watch = Watch();
    EXPECT_FALSE(Checkpoint(watch, times_predicted).has_value());
    const auto proposal = Checkpoint(watch, times_predicted);
    ASSERT_TRUE(proposal.has_value()) << times_predicted;
    EXPECT_EQ(ShapeOf(proposal->candidate), kTwoDiscriminators);
    EXPECT_EQ(proposal->candidate.placement().workers_size(), 3);
    EXPECT_THAT(proposal->line, StartsWith(std::string("replan: ") +
                                           kTwoDiscriminators + " would be "));
  }
}

TEST_F(ReplanWatchTest, ACheckWithoutRoundsDoesNotCount) {
  ReplanWatch watch = Watch();
  EXPECT_FALSE(Checkpoint(watch, 1).has_value());
  EXPECT_FALSE(watch.Check().has_value());
  EXPECT_TRUE(Checkpoint(watch, 1).has_value());
}

TEST_F(ReplanWatchTest, AShapeThatKeepsItsPromiseIsKept) {
  ReplanWatch watch = Watch();
  Checkpoint(watch, 1);
  const auto proposal = Checkpoint(watch, 1);
  ASSERT_TRUE(proposal.has_value());
  Enter(watch, proposal->candidate);
  for (int check = 0; check < 20; ++check) {
    EXPECT_FALSE(Checkpoint(watch, 1).has_value()) << check;
  }
}

TEST_F(ReplanWatchTest, AShapeThatDisappointsIsLeftOnceAndForAll) {
  ReplanWatch watch = Watch();
  Checkpoint(watch, 1);
  auto proposal = Checkpoint(watch, 1);
  ASSERT_TRUE(proposal.has_value());
  Enter(watch, proposal->candidate);
  EXPECT_FALSE(Checkpoint(watch, 10).has_value());
  proposal = Checkpoint(watch, 10);
  ASSERT_TRUE(proposal.has_value());
  EXPECT_EQ(ShapeOf(proposal->candidate), kOneEach);
  Enter(watch, proposal->candidate);
  // As fast as before, whatever the other shape has made of the predictions.
  running_ = plan_.candidates(0);
  for (int check = 0; check < 20; ++check) {
    EXPECT_FALSE(Checkpoint(watch, 1).has_value()) << check;
  }
}

}  // namespace
}  // namespace gandem
