// SPDX-License-Identifier: Apache-2.0
#include "training/roles/training_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "models/torch.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int64_t kHealthFirstRound = 100;

class TrainingHealthTest : public ::testing::Test {
 protected:
  TrainingHealthTest() {
    health_.Begin(kHealthFirstRound,
                  {{"moves", moves_}, {"stays", stays_}, {"rests", rests_}});
  }

  // Runs `rounds` rounds. `change` edits the metrics of each round.
  void Run(int64_t rounds,
           const std::function<void(RoundMetrics& metrics)>& change = nullptr) {
    for (int64_t i = 0; i < rounds; ++i, ++round_) {
      moves_ += 1;
      RoundMetrics metrics;
      metrics.set_round(round_);
      metrics.set_learning_rate(learning_rate_);
      if (change) change(metrics);
      health_.EndRound(has_updated_, metrics);
      for (const HealthWarning& warning : metrics.health()) {
        texts_.push_back(warning.text());
        told_.push_back(metrics.round());
        since_.push_back(warning.since_round());
      }
    }
  }
  void MoveAll() {
    stays_ += 1;
    rests_ += 1;
  }
  // Sets the measurements in the rounds that are measured.
  void RunMeasured(int64_t rounds, double gradient, double spread) {
    Run(rounds, [=](RoundMetrics& metrics) {
      if (!TrainingHealth::MeasuresImages(metrics.round())) return;
      metrics.set_image_gradient_norm(gradient);
      metrics.set_image_spread(spread);
    });
  }

  at::Tensor moves_ = torch::zeros({3});
  at::Tensor stays_ = torch::ones({2, 2});
  at::Tensor rests_ = torch::ones({1});
  TrainingHealth health_{GENERATOR};
  int64_t round_ = kHealthFirstRound;
  double learning_rate_ = 1e-3;
  bool has_updated_ = true;
  std::vector<std::string> texts_;
  std::vector<int64_t> told_;
  std::vector<int64_t> since_;
};

TEST_F(TrainingHealthTest, ParametersThatDoNotMoveAreReportedOnce) {
  Run(200);
  EXPECT_THAT(texts_, ElementsAre(AllOf(
                          StartsWith("generator, round 124: 2 of 3 trained "
                                     "parameters have not moved in 25 updates: "
                                     "stays, rests."),
                          HasSubstr("generator.freeze"))));
  EXPECT_THAT(since_, ElementsAre(kHealthFirstRound));
}

TEST_F(TrainingHealthTest, ParametersThatMoveLateAreNotReported) {
  Run(24);
  MoveAll();
  Run(100);
  EXPECT_THAT(texts_, IsEmpty());
}

// A warm-up from 0 is valid if it ends.
TEST_F(TrainingHealthTest, RoundsWithALearningRateOfZeroDoNotCount) {
  learning_rate_ = 0;
  Run(24);
  learning_rate_ = 1e-9;
  MoveAll();
  Run(100);
  EXPECT_THAT(texts_, IsEmpty());
}

TEST_F(TrainingHealthTest, ALearningRateThatStaysZeroIsReported) {
  learning_rate_ = 0;
  Run(200);
  EXPECT_THAT(
      texts_,
      ElementsAre(HasSubstr("learning rate has been 0 in all 25 rounds")));
}

TEST_F(TrainingHealthTest, SkippingAllUpdatesIsReported) {
  has_updated_ = false;
  Run(200);
  EXPECT_THAT(texts_,
              ElementsAre(HasSubstr("all updates of 25 rounds were skipped")));
}

TEST_F(TrainingHealthTest, ZeroImageGradientsAreReported) {
  MoveAll();
  RunMeasured(40, 1, 0.5);  // until round 139
  RunMeasured(100, 0, 0.5);
  // Measured in rounds 144, 149, 154, 159 and 164.
  EXPECT_THAT(texts_, ElementsAre(StartsWith(
                          "generator, round 164: the image gradients have "
                          "been 0")));
  // Round 139 was the last healthy one.
  EXPECT_THAT(since_, ElementsAre(139));
}

// A last layer initialized with zeros has no gradient at first.
TEST_F(TrainingHealthTest, ZeroGradientsInSomeRoundsAreNotReported) {
  MoveAll();
  RunMeasured(20, 0, 0);
  RunMeasured(5, 1, 0.5);
  RunMeasured(20, 0, 0);
  EXPECT_THAT(texts_, IsEmpty());
}

TEST_F(TrainingHealthTest, ExplodingImageGradientsAreReported) {
  MoveAll();
  RunMeasured(5, 2e4, 0.5);
  RunMeasured(25, 1, 0.5);
  EXPECT_THAT(texts_, IsEmpty());  // a single one is not reported
  RunMeasured(20, std::numeric_limits<double>::infinity(), 0.5);
  EXPECT_THAT(texts_, ElementsAre(HasSubstr("they explode")));
  EXPECT_THAT(told_, ElementsAre(139));
  EXPECT_THAT(since_, ElementsAre(129));
}

TEST_F(TrainingHealthTest, IdenticalSamplesAreReported) {
  MoveAll();
  RunMeasured(100, 1, 1e-3);
  EXPECT_THAT(texts_, ElementsAre(AllOf(
                          HasSubstr("all images of a batch have been alike"),
                          HasSubstr("0.001"))));
  EXPECT_THAT(told_, ElementsAre(124));
  EXPECT_THAT(since_, ElementsAre(kHealthFirstRound));
}

}  // namespace
}  // namespace gandem
