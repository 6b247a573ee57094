// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_evidence.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/proto_json.h"
#include "proto/metrics.pb.h"
#include "scaling_manager/planner/trials/trials.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// The reference and one more, with two seeds at three rungs.
Trials SmallStudy() {
  Trials trials;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      recipe {
        rounds: 400
        schedule { lag: 1 }
        generator { network { mlp {} } optimizer { adam {} } }
        discriminator { network { mlp {} } optimizer { adam {} } }
      }
      trials { name: "synchronous" sets: "schedule.lag=0" is_reference: true }
      trials { name: "recipe" }
      rungs: 100 rungs: 200 rungs: 400
      seeds: 1 seeds: 2)",
                                                            &trials));
  for (Trial& trial : *trials.mutable_trials()) {
    for (const int64_t rounds : {100, 200, 400}) {
      for (const uint64_t seed : {1, 2}) {
        TrialScore& score = *trial.add_scores();
        score.set_rounds(rounds);
        score.set_seed(seed);
        score.set_distance((trial.is_reference() ? 100.0 : 120.0 + seed) /
                           static_cast<double>(rounds));
      }
    }
  }
  return trials;
}

std::string MetricsLine(Role role, int64_t round, double noise) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_run_epoch(1);
  metrics.set_round(round);
  metrics.set_workers(1);
  metrics.set_round_seconds(1);
  for (const auto part : {GradientNoise::REAL, GradientNoise::GENERATED}) {
    if (role == GENERATOR && part == GradientNoise::REAL) continue;
    // |G|^2 = 2; of generated images more noise.
    const double of_part =
        (part == GradientNoise::REAL ? noise : 4 * noise) + 0.1 * (round % 3);
    GradientNoise& measured = *metrics.add_gradient_noise();
    measured.set_part(part);
    measured.set_small_images(2);
    measured.set_large_images(4);
    measured.set_small_square(2 + of_part / 2);
    measured.set_large_square(2 + of_part / 4);
  }
  return ProtoJson(metrics) + "\n";
}

class PlanEvidenceTest : public ::testing::Test {
 protected:
  void WriteTrials(const Trials& trials) {
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(trials, &text));
    ASSERT_OK(WriteFile(folder_ / "trials.textproto", text));
  }
  // A run of the recipe, as far as it is looked at.
  void WriteRun(const std::string& metrics) {
    ASSERT_OK(WriteFile(folder_ / "metrics.jsonl", metrics));
    ASSERT_OK(
        WriteFile(folder_ / "config.textproto", EffectiveConfigText(recipe_)));
  }
  const RunConfig recipe_ = SmallStudy().recipe();
  TempDir folder_;
};

TEST_F(PlanEvidenceTest, NothingIsGivenNothingIsKnown) {
  ASSERT_OK_AND_ASSIGN(const QualityEvidence evidence,
                       ReadEvidence(recipe_, "", ""));
  EXPECT_THAT(evidence.trials, SizeIs(0));
  EXPECT_FALSE(evidence.generator_noise.has_value());
  EXPECT_FALSE(evidence.discriminator_noise.has_value());
}

TEST_F(PlanEvidenceTest, TrialsOfTheRecipe) {
  WriteTrials(SmallStudy());
  ASSERT_OK_AND_ASSIGN(const QualityEvidence evidence,
                       ReadEvidence(recipe_, folder_.path(), ""));
  ASSERT_THAT(evidence.trials, SizeIs(1));
  EXPECT_EQ(evidence.trials[0].config.schedule().lag(), 1);
  EXPECT_GT(evidence.trials[0].log_factor, 0);
  // What was tried narrows what is predicted of it.
  const RunConfig& tried = evidence.trials[0].config;
  const ImagesNeeded without = PredictImagesNeeded(tried);
  const ImagesNeeded with = PredictImagesNeeded(tried, evidence);
  EXPECT_LT(with.high / with.low, without.high / without.low);
}

TEST_F(PlanEvidenceTest, AStudyThatIsNoneOrTooYoungIsNamed) {
  EXPECT_THAT(ReadEvidence(recipe_, folder_.path(), ""),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("trials.textproto"),
                             HasSubstr("gandem trials RECIPE -o FOLDER"))));
  ASSERT_OK(WriteFile(folder_ / "trials.textproto", "odd: 1"));
  EXPECT_THAT(ReadEvidence(recipe_, folder_.path(), ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("trials.textproto:1:")));
  Trials young = SmallStudy();
  for (Trial& trial : *young.mutable_trials()) trial.clear_scores();
  WriteTrials(young);
  EXPECT_THAT(
      ReadEvidence(recipe_, folder_.path(), ""),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr(folder_.path()), HasSubstr("--trial_hours"))));
}

TEST_F(PlanEvidenceTest, ACompleteStudyIsNotToGoOn) {
  Trials flat = SmallStudy();
  for (Trial& trial : *flat.mutable_trials()) {
    for (TrialScore& score : *trial.mutable_scores()) score.set_distance(1);
  }
  WriteTrials(flat);
  EXPECT_THAT(ReadEvidence(recipe_, folder_.path(), ""),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("is complete"), HasSubstr("--rounds"),
                             Not(HasSubstr("go on with")))));
}

// Batches, rates, images and devices may differ; networks and losses may not.
TEST_F(PlanEvidenceTest, AStudyOfAnotherModelIsRefused) {
  WriteTrials(SmallStudy());
  RunConfig recipe = recipe_;
  recipe.set_name("wider");
  recipe.mutable_data()->set_image_size(64);
  recipe.mutable_generator()->set_batch_size(256);
  recipe.mutable_generator()->set_device("cuda");
  EXPECT_OK(ReadEvidence(recipe, folder_.path(), "").status());
  recipe.mutable_generator()->mutable_network()->mutable_mlp()->add_hidden(9);
  EXPECT_THAT(
      ReadEvidence(recipe, folder_.path(), ""),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr(absl::StrCat("--trials ", folder_.path())),
                     HasSubstr("another model"), HasSubstr("'wider'"))));
}

TEST_F(PlanEvidenceTest, NoiseOfAnotherModelIsRefused) {
  WriteRun(absl::StrCat(MetricsLine(GENERATOR, 0, 3),
                        MetricsLine(DISCRIMINATOR, 0, 8)));
  RunConfig recipe = recipe_;
  recipe.set_loss(HINGE);
  EXPECT_THAT(
      ReadEvidence(recipe, "", folder_.path()),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr(absl::StrCat("--noise_of ", folder_.path())),
                     HasSubstr("another model"))));
}

TEST_F(PlanEvidenceTest, TheSmallestNoiseScaleOfEachRole) {
  std::string lines;
  for (int64_t round = 0; round < 60; ++round) {
    absl::StrAppend(&lines, MetricsLine(GENERATOR, round, 3),
                    MetricsLine(DISCRIMINATOR, round, 8));
  }
  WriteRun(lines);
  ASSERT_OK_AND_ASSIGN(const QualityEvidence evidence,
                       ReadEvidence(recipe_, "", folder_.path()));
  ASSERT_TRUE(evidence.generator_noise.has_value());
  ASSERT_TRUE(evidence.discriminator_noise.has_value());
  EXPECT_NEAR(evidence.generator_noise->images, 6, 0.1);
  EXPECT_NEAR(evidence.discriminator_noise->images, 4, 0.1);
}

TEST_F(PlanEvidenceTest, ARunThatMeasuredNoneSaysHow) {
  EXPECT_THAT(ReadEvidence(recipe_, "", folder_.path()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no metrics")));
  std::string lines;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    for (int64_t round = 0; round < 3; ++round) {
      absl::StrAppend(&lines, MetricsLine(role, round, 3));
    }
  }
  WriteRun(lines);
  EXPECT_THAT(ReadEvidence(recipe_, "", folder_.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("control.noise_scale_every_rounds=20")));
}

}  // namespace
}  // namespace gandem
