// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/proto_json.h"
#include "proto/metrics.pb.h"
#include "scaling_manager/planner_commands/plan_inputs.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

RunConfig Recipe() {
  RunConfig recipe;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      rounds: 400
      schedule { lag: 1 }
      generator { network { mlp {} } optimizer { adam {} } }
      discriminator { network { mlp {} } optimizer { adam {} } })",
                                                            &recipe));
  return recipe;
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
    // |G|^2 = 2; generated images have more noise than real ones.
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

std::string LinesOf(int64_t rounds) {
  std::string lines;
  for (int64_t round = 0; round < rounds; ++round) {
    absl::StrAppend(&lines, MetricsLine(GENERATOR, round, 3),
                    MetricsLine(DISCRIMINATOR, round, 8));
  }
  return lines;
}

class MeasuredNoiseTest : public ::testing::Test {
 protected:
  void WriteRun(const std::string& metrics) {
    ASSERT_OK(WriteFile(folder_ / "metrics.jsonl", metrics));
    ASSERT_OK(
        WriteFile(folder_ / "config.textproto", EffectiveConfigText(recipe_)));
  }
  const RunConfig recipe_ = Recipe();
  TempDir folder_;
};

// Batches, rates, images and devices may differ; networks and losses may not.
TEST_F(MeasuredNoiseTest, NoiseOfAnotherModelIsRejected) {
  WriteRun(LinesOf(60));
  RunConfig recipe = recipe_;
  recipe.set_name("wider");
  recipe.mutable_data()->set_image_size(64);
  recipe.mutable_generator()->set_batch_size(256);
  recipe.mutable_generator()->set_device("cuda");
  EXPECT_OK(ReadNoiseScales(recipe, folder_.path()));
  const auto is_refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr(absl::StrCat("--noise_of ", folder_.path())),
                     HasSubstr("another model"), HasSubstr("'wider'")));
  RunConfig other = recipe;
  other.set_loss(HINGE);
  EXPECT_THAT(ReadNoiseScales(other, folder_.path()), is_refused);
  recipe.mutable_generator()->mutable_network()->mutable_mlp()->add_hidden(9);
  EXPECT_THAT(ReadNoiseScales(recipe, folder_.path()), is_refused);
}

TEST_F(MeasuredNoiseTest, TheSmallestNoiseScaleOfEachRoleIsUsed) {
  WriteRun(LinesOf(60));
  ASSERT_OK_AND_ASSIGN(const NoiseScales noise,
                       ReadNoiseScales(recipe_, folder_.path()));
  ASSERT_TRUE(noise.generator.has_value());
  ASSERT_TRUE(noise.discriminator.has_value());
  EXPECT_NEAR(noise.generator->images, 6, 0.1);
  EXPECT_NEAR(noise.discriminator->images, 4, 0.1);
}

TEST_F(MeasuredNoiseTest, RunsWithoutANoiseScaleGetAdvice) {
  EXPECT_THAT(ReadNoiseScales(recipe_, folder_.path()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no metrics")));
  WriteRun(LinesOf(3));
  EXPECT_THAT(ReadNoiseScales(recipe_, folder_.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("control.noise_scale_every_rounds=20")));
}

}  // namespace
}  // namespace gandem
