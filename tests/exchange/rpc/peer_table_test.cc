// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/peer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kHash = 7;

TEST(PeerTableTest, KnowsWhoHasGreeted) {
  PeerTable peers({.config_hash = kHash, .run_epoch = 2});
  const FrameSender peer = {.run_epoch = 2, .incarnation = 3, .rank = 0};
  EXPECT_THAT(peers.Check(peer),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is not the one that greeted")));
  EXPECT_OK(peers.Greet(peer, kHash));
  EXPECT_OK(peers.Check(peer));
}

// No incarnation is negative, but the place of who has not come yet is.
TEST(PeerTableTest, NobodyPassesWithoutAHello) {
  PeerTable peers({.config_hash = kHash});
  for (const int64_t incarnation : {-1, -2}) {
    const FrameSender peer = {.incarnation = incarnation};
    EXPECT_THAT(peers.Check(peer),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("is not the one that greeted")));
    EXPECT_THAT(peers.Greet(peer, kHash),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("they count from 0")));
  }
}

}  // namespace
}  // namespace gandem
