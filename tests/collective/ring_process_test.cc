// SPDX-License-Identifier: Apache-2.0
//
// Rank 0 (this process) sums with ranks 1 and 2, processes that are killed or
// stopped meanwhile.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/ring_collective.h"
#include "common/process/child_process.h"
#include "tests/collective/collective_contract.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_programs.h"

namespace gandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RingProcessTest : public ::testing::Test {
 protected:
  static constexpr int kSize = 3;

  void SetUp() override {
    RingOptions options = {.rank = 0};
    for (int rank = 0; rank < kSize; ++rank) {
      options.peers.push_back(
          {.local_address = absl::StrCat("unix:", dir_ / absl::StrCat(rank))});
    }
    ASSERT_OK_AND_ASSIGN(
        auto listener,
        RingListener::Start({.local_address = options.peers[0].local_address}));
    ASSERT_OK_AND_ASSIGN(ring_, CreateRing(std::move(listener), options));
    for (int rank = 1; rank < kSize; ++rank) {
      ASSERT_OK_AND_ASSIGN(
          auto child,
          ChildProcess::Start(
              {.arguments = {TestProgram("ring_peer"), absl::StrCat(rank),
                             dir_.path(), absl::StrCat(kSize)},
               .log_path = dir_ / absl::StrCat("log", rank)}));
      children_.push_back(std::move(child));
    }
  }

  ChildProcess& child(int rank) { return children_[rank - 1]; }

  absl::Status SumUntil(absl::Time deadline) {
    return ring_->Wait(ring_->AllReduce(values_, ElementType::kFloat32),
                       deadline);
  }

  // Returns the last line of a peer's log when the peer ends.
  std::string LastWords(int rank) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (!child(rank).Poll().has_value()) {
      if (absl::Now() > deadline) return "still there";
    }
    return child(rank).LogTail(1);
  }

  TempDir dir_;
  Bytes values_ = Bytes(1 << 20);
  std::vector<ChildProcess> children_;
  std::unique_ptr<Collective> ring_;
};

TEST_F(RingProcessTest, AllRanksLearnOfAKilledRank) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(SumUntil(absl::Now() + absl::Seconds(30)));
  }
  child(2).Signal(SIGKILL);
  absl::Status status;
  while (status.ok()) status = SumUntil(absl::Now() + absl::Seconds(30));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("rank 2 is lost")));
  EXPECT_THAT(LastWords(1), HasSubstr("rank 2 is lost"));
}

TEST_F(RingProcessTest, AStoppedRankIsWaitedForUntilARankGivesUp) {
  ASSERT_OK(SumUntil(absl::Now() + absl::Seconds(30)));
  kill(child(2).pid(), SIGSTOP);
  int state = 0;
  ASSERT_EQ(waitpid(child(2).pid(), &state, WUNTRACED), child(2).pid());
  Collective::Ticket ticket = 0;
  absl::Status status;
  while (status.ok()) {
    ticket = ring_->AllReduce(values_, ElementType::kFloat32);
    status = ring_->Wait(ticket, absl::Now() + absl::Milliseconds(300));
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               HasSubstr("waiting for")));
  child(2).Signal(SIGCONT);
  EXPECT_OK(WaitLong(*ring_, ticket));

  kill(child(1).pid(), SIGSTOP);
  ASSERT_EQ(waitpid(child(1).pid(), &state, WUNTRACED), child(1).pid());
  ring_->Close(absl::DeadlineExceededError("the heartbeats of rank 1 stopped"));
  EXPECT_THAT(SumUntil(absl::Now() + absl::Seconds(30)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("heartbeats of rank 1")));
  EXPECT_THAT(LastWords(2),
              HasSubstr("rank 0: the heartbeats of rank 1 stopped"));
}

}  // namespace
}  // namespace gandem::testing
