// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/peer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kHash = 7;

TEST(PeerTableTest, PeersThatSentHelloAreKnown) {
  PeerTable peers({.config_hash = kHash, .run_epoch = 2});
  const FrameSender peer = {.run_epoch = 2, .incarnation = 3, .rank = 0};
  EXPECT_THAT(peers.Check(peer), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("has not greeted")));
  EXPECT_OK(peers.Greet(peer, kHash));
  EXPECT_OK(peers.Check(peer));
}

// Incarnations are random: the order of the Hellos counts.
TEST(PeerTableTest, ASupersededProcessCannotReturn) {
  PeerTable peers({.config_hash = kHash});
  const FrameSender old = {.incarnation = 900};
  const FrameSender newer = {.incarnation = 3};
  ASSERT_OK(peers.Greet(old, kHash));
  ASSERT_OK(peers.Greet(newer, kHash));
  ASSERT_OK(peers.Greet(newer, kHash));
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(peers.Greet(old, kHash), StatusIs(kRefused));
  EXPECT_THAT(peers.Check(old), StatusIs(kRefused));
  EXPECT_OK(peers.Check(newer));
}

// A detailed answer would help a stranger.
TEST(PeerTableTest, ARefusalDoesNotRevealTheExpectedValue) {
  PeerTable peers({.config_hash = 0xabcdef});
  const absl::Status wrong_config = peers.Greet({.incarnation = 1}, 1);
  EXPECT_THAT(std::string(wrong_config.message()), Not(HasSubstr("abcdef")));
  ASSERT_OK(peers.Greet({.incarnation = 77123}, 0xabcdef));
  EXPECT_THAT(std::string(peers.Check({.incarnation = 1}).message()),
              Not(HasSubstr("77123")));
}

}  // namespace
}  // namespace gandem
