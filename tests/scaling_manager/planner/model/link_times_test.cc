// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/link_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::DoubleEq;
using ::testing::HasSubstr;

constexpr int64_t kMiB = 1 << 20;

TEST(LinkTimesTest, RingTimesFollowTheFormulas) {
  const LinkLine pair = {.latency = 0.001, .bytes_per_second = kMiB};
  EXPECT_EQ(RingSeconds(pair, kMiB, 1), 0);
  EXPECT_THAT(RingSeconds(pair, kMiB, 2), DoubleEq(0.001 + 1));
  EXPECT_THAT(RingSeconds(pair, kMiB, 4), DoubleEq(3 * 0.001 + 1.5));
  // Two ranks exchange in one hop.
  EXPECT_THAT(RingSeconds(pair, 16 << 10, 4), DoubleEq(0.001 + 3.0 / 64));
  // Small messages take three hops, short messages six.
  EXPECT_THAT(RingSeconds(pair, 1 << 10, 8), DoubleEq(0.003 + 7.0 / 1024));
  EXPECT_THAT(RingSeconds(pair, 128 << 10, 8),
              DoubleEq(0.003 + (1.5 + 7.0 / 8) / 8));
}

TEST(LinkTimesTest, SeveralHostsHaveARingInEachAndOneBetween) {
  const LinkTimes links = {.sum_memory = {.bytes_per_second = 4 * kMiB},
                           .sum_network = {.bytes_per_second = kMiB}};
  EXPECT_THAT(links.AllReduceSeconds(kMiB, {4}, 1), DoubleEq(1.5 / 4));
  EXPECT_THAT(links.AllReduceSeconds(kMiB, {4}, 2), DoubleEq(1.5 / 2));
  EXPECT_THAT(links.AllReduceSeconds(kMiB, {1, 1, 1, 1}, 1), DoubleEq(1.5));
  // 1.5 / 4 within a host, 1 between hosts, and 1 / 4 for the broadcast.
  EXPECT_THAT(links.AllReduceSeconds(kMiB, {4, 4}, 1),
              DoubleEq(1.5 / 4 + 1 + 0.25));
  EXPECT_THAT(links.BroadcastSeconds(kMiB, {2, 1}), DoubleEq(1 + 0.25));
  EXPECT_EQ(links.BroadcastSeconds(0, {2, 1}), 0);
}

TEST(LinkTimesTest, LinkOfTheMachinesReplacesTheMeasuredLink) {
  ProfileBuilder builder;
  builder.Transfer(TransferProfile::EXCHANGE_SOCKET, 0.001, 1000)
      .Transfer(TransferProfile::EXCHANGE_TCP, 0.5, 100);
  const LinksUsed used = {.socket = true, .network = true};
  Machines machines;
  ASSERT_OK_AND_ASSIGN(LinkTimes links,
                       LinkTimesOf(builder.Build(), machines, used));
  EXPECT_EQ(links.network.latency, 0.5);
  EXPECT_EQ(links.network.bytes_per_second, 100);
  machines.mutable_link()->set_bytes_per_second(10);
  machines.mutable_link()->set_latency_seconds(0.25);
  ASSERT_OK_AND_ASSIGN(links, LinkTimesOf(builder.Build(), machines, used));
  EXPECT_THAT(links.network.latency, DoubleEq(0.251));
  EXPECT_EQ(links.network.bytes_per_second, 10);
  // No link is faster than its ends.
  machines.mutable_link()->set_bytes_per_second(1e9);
  ASSERT_OK_AND_ASSIGN(links, LinkTimesOf(builder.Build(), machines, used));
  EXPECT_EQ(links.network.bytes_per_second, 100);
}

TEST(LinkTimesTest, ErrorsNameTheMissingValue) {
  Profile profile = ProfileBuilder().Build();
  EXPECT_THAT(LinkTimesOf(profile, {}, {.network = true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("machines.link.bytes_per_second is not set")));
  profile.clear_transfers();
  EXPECT_OK(LinkTimesOf(profile, {}, {}));
  EXPECT_THAT(LinkTimesOf(profile, {}, {.socket = true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("EXCHANGE_SOCKET")));
  Machines machines;
  machines.mutable_link()->set_latency_seconds(-1);
  EXPECT_THAT(
      LinkTimesOf(profile, machines, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("machines.link")));
}

}  // namespace
}  // namespace gandem
