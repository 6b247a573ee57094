// SPDX-License-Identifier: Apache-2.0
//
// Tests whether ranks on two hosts detect that one cannot reach the other.
#include "worker/fleet_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/process/thread.h"
#include "tests/testing/eventually.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

const absl::Time kPast = absl::InfinitePast();

class FleetLinkTest : public ::testing::Test {
 protected:
  FleetLinkTest() {
    for (int rank = 0; rank < 2; ++rank) {
      links_[rank] = *FleetLink::Create(2, "127.0.0.1:0");
      FleetMember& member = *joined_.add_fleet();
      member.set_host(rank == 0 ? "alpha" : "beta");
      member.set_host_identity(member.host() + "/1");
      member.set_network_address(links_[rank]->network_address());
      member.set_incarnation(rank + 1);
    }
  }
  void Connect(int rank, const JoinReply& joined) {
    ASSERT_OK(links_[rank]->Connect(rank, joined, /*membership_epoch=*/1, {}));
  }
  // Waits until `rank` reports `message`.
  bool ComesToSay(int rank, const std::string& message) {
    return gandem::testing::Eventually(
        [&] { return links_[rank]->AwaitPeers(kPast).message() == message; });
  }

  JoinReply joined_;
  std::unique_ptr<FleetLink> links_[2];
};

TEST_F(FleetLinkTest, RanksOnTwoHostsConnect) {
  Connect(0, joined_);
  Connect(1, joined_);
  absl::Status met;
  Thread other("other", [&] { met = links_[1]->AwaitPeers(Soon()); });
  EXPECT_OK(links_[0]->AwaitPeers(Soon()));
  other.Join();
  EXPECT_OK(met);
}

// The firewall of beta lets beta connect to alpha, but not alpha to beta.
TEST_F(FleetLinkTest, BothRanksNameAClosedDirection) {
  Connect(1, joined_);
  JoinReply closed = joined_;
  closed.mutable_fleet(1)->set_network_address("127.0.0.1:1");
  Connect(0, closed);
  EXPECT_TRUE(ComesToSay(
      0,
      "rank 0 on host alpha does not reach rank 1 at 127.0.0.1:1: nobody "
      "answers (Connection refused)"));
  EXPECT_TRUE(ComesToSay(
      1, absl::StrCat("rank 0 on host alpha does not reach rank 1 at ",
                      joined_.fleet(1).network_address())));
}

TEST_F(FleetLinkTest, WaitingForAPeerEndsWithTheRun) {
  Connect(0, joined_);
  links_[0]->Close(absl::CancelledError("the run epoch is over"));
  EXPECT_THAT(links_[0]->AwaitPeers(absl::InfiniteFuture()),
              testing::StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace gandem
