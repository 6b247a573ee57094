// SPDX-License-Identifier: Apache-2.0
#include "common/results/noise_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/proto_json.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns metrics of |G|^2 = signal, tr(Sigma) = noise, of 2 of 4 images.
RoundMetrics NoiseMetrics(Role role, int rank, int64_t round, double signal,
                          double noise) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_rank(rank);
  metrics.set_run_epoch(1);
  metrics.set_round(round);
  GradientNoise& measured = *metrics.add_gradient_noise();
  measured.set_part(GradientNoise::GENERATED);
  measured.set_small_images(2);
  measured.set_large_images(4);
  measured.set_small_square(signal + noise / 2);
  measured.set_large_square(signal + noise / 4);
  return metrics;
}

// Reports of workers are read from metrics.jsonl, and measurements of one round
// by several workers count as one.
TEST(NoiseRowsTest, MetricsLinesGiveAScale) {
  RoundHistory history;
  for (int64_t round = 0; round < 20; ++round) {
    // Rounds before the first one that counts have another scale.
    const double noise = round < 10 ? 1000 : 8 + 0.1 * (round % 3);
    history.AddLine(ProtoJson(NoiseMetrics(GENERATOR, 0, round, 2, noise)));
    history.AddLine(ProtoJson(NoiseMetrics(GENERATOR, 1, round, 2, noise)));
  }
  const std::vector<NoiseRow> rows = NoiseRows(history, 10);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].role, GENERATOR);
  EXPECT_EQ(rows[0].part, GradientNoise::GENERATED);
  EXPECT_EQ(rows[0].rounds, 10);
  ASSERT_TRUE(rows[0].scale.has_value());
  EXPECT_NEAR(rows[0].scale->images, 4.05, 0.05);
  const std::string text = NoiseText(rows);
  EXPECT_THAT(text,
              HasSubstr("gradient noise scale of the generator on generated "
                        "images: 4.0"));
  EXPECT_THAT(text, HasSubstr("10 rounds\n"));
}

TEST(NoiseRowsTest, TooFewRoundsAreReported) {
  RoundHistory history;
  history.AddLine(ProtoJson(NoiseMetrics(DISCRIMINATOR, 0, 3, 2, 8)));
  const std::vector<NoiseRow> rows = NoiseRows(history, 0);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_FALSE(rows[0].scale.has_value());
  EXPECT_THAT(NoiseText(rows), HasSubstr("not known yet, 1 rounds"));
}

TEST(NoiseRowsTest, MissingOrInvalidMeasurementsGiveNoScale) {
  RoundHistory history;
  RoundMetrics metrics = NoiseMetrics(GENERATOR, 0, 1, 2, 8);
  metrics.mutable_gradient_noise(0)->set_large_images(2);
  history.AddLine(ProtoJson(metrics));
  metrics.clear_gradient_noise();
  metrics.set_round(2);
  history.AddLine(ProtoJson(metrics));
  history.AddLine(
      R"({"role":"generator","round":3,"gradient_noise":[{"part":"odd"},7]})");
  history.AddLine(R"({"role":"generator","round":4,"gradient_noise":{"a":1}})");
  EXPECT_THAT(NoiseRows(history, 0), IsEmpty());
  EXPECT_EQ(NoiseText({}), "");
}

}  // namespace
}  // namespace gandem
