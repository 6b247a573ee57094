// SPDX-License-Identifier: Apache-2.0
#include "extras/report_page/run_page_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/files/proto_json.h"

namespace gandem {
namespace {

using Json = nlohmann::ordered_json;

RoundMetrics PageMetrics(Role role, int64_t round) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_run_epoch(1);
  metrics.set_round(round);
  metrics.set_workers(1);
  metrics.set_images(8);
  metrics.set_round_seconds(2);
  metrics.set_wait_images_seconds(0.5);
  metrics.set_wait_data_seconds(0.25);
  metrics.set_loss(static_cast<double>(round));
  metrics.set_lag(round % 2);
  metrics.set_cache_images(3);
  metrics.set_cache_capacity(4);
  return metrics;
}

TEST(RoleColumnsTest, FewRoundsBecomeOnePointEach) {
  RoundHistory history;
  for (int64_t round = 0; round < 4; ++round) {
    history.AddLine(ProtoJson(PageMetrics(DISCRIMINATOR, round)));
  }
  const Json columns = RoleColumns(history, DISCRIMINATOR, 4);
  EXPECT_EQ(columns["round"], Json({1, 2, 3, 4}));
  EXPECT_EQ(columns["images"], Json({8, 16, 24, 32}));
  EXPECT_EQ(columns["seconds"], Json({2, 4, 6, 8}));
  EXPECT_EQ(columns["loss"], Json({0, 1, 2, 3}));
  EXPECT_EQ(columns["lag"], Json({0, 1, 0, 1}));
  EXPECT_EQ(columns["images_per_second"], Json({4, 4, 4, 4}));
  EXPECT_EQ(columns["share_images"], Json({0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(columns["share_data"], Json({0.125, 0.125, 0.125, 0.125}));
  EXPECT_EQ(columns["share_compute"], Json({0.625, 0.625, 0.625, 0.625}));
  EXPECT_EQ(columns["cache_fill"], Json({0.75, 0.75, 0.75, 0.75}));
  EXPECT_TRUE(RoleColumns(history, GENERATOR, 4).empty());
}

TEST(RoleColumnsTest, ManyRoundsBecomeMeansWithTheirRange) {
  RoundHistory history;
  for (int64_t round = 0; round < 5; ++round) {
    history.AddLine(ProtoJson(PageMetrics(DISCRIMINATOR, round)));
  }
  const Json columns = RoleColumns(history, DISCRIMINATOR, 2);
  EXPECT_EQ(columns["round"], Json({3, 5}));
  EXPECT_EQ(columns["loss"], Json({1, 3.5}));
  EXPECT_EQ(columns["loss_low"], Json({0, 3}));
  EXPECT_EQ(columns["loss_high"], Json({2, 4}));
}

TEST(RoleColumnsTest, NonFiniteValuesAreNull) {
  RoundHistory history;
  RoundMetrics metrics = PageMetrics(DISCRIMINATOR, 0);
  metrics.set_loss(std::nan(""));
  history.AddLine(ProtoJson(metrics));
  const Json columns = RoleColumns(history, DISCRIMINATOR, 2);
  EXPECT_TRUE(columns["loss"][0].is_null());
  EXPECT_EQ(columns["round"][0], 1);
}

TEST(RoleColumnsTest, AugmentationIsPresentIfItAdapts) {
  RoundHistory history;
  for (int64_t round = 0; round < 3; ++round) {
    RoundMetrics metrics = PageMetrics(DISCRIMINATOR, round);
    if (round > 0) metrics.set_ada_p(0.25 * static_cast<double>(round - 1));
    if (round > 1) metrics.set_ada_r_t(-0.5);
    history.AddLine(ProtoJson(metrics));
  }
  const Json columns = RoleColumns(history, DISCRIMINATOR, 3);
  EXPECT_EQ(columns["ada_p"], Json({nullptr, 0, 0.25}));
  EXPECT_EQ(columns["ada_r_t"], Json({nullptr, nullptr, -0.5}));
}

}  // namespace
}  // namespace gandem
