// SPDX-License-Identifier: Apache-2.0
//
// Tests of the state that a rank keeps about its peers, without a network.
#include "collective/ring_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

using ::testing::HasSubstr;

RingFrame OpenOf(int rank) {
  return {.kind = RingFrameKind::kOpen,
          .membership_epoch = 5,
          .incarnation = 10 + rank,
          .rank = rank,
          .to = 0,
          .fleet_size = 3};
}

RingFrame ChunkOf(int rank, int64_t number) {
  RingFrame frame = OpenOf(rank);
  frame.kind = RingFrameKind::kChunk;
  frame.number = number;
  return frame;
}

class RingCoreTest : public ::testing::Test {
 protected:
  RingCoreTest() {
    core_.Configure(
        {.rank = 0, .incarnations = {10, 11, 12}, .membership_epoch = 5});
  }

  void Connect(int rank) {
    EXPECT_OK(core_.Admit(OpenOf(rank)));
    (void)core_.TakeUnconnected();
    RingFrame accept = OpenOf(rank);
    accept.kind = RingFrameKind::kAccept;
    EXPECT_OK(core_.Accept(accept, rank));
  }

  RingCore core_;
};

TEST_F(RingCoreTest, OnlyThePeersOfThisMembershipAreAdmitted) {
  const struct {
    std::function<void(RingFrame&)> change;
    absl::StatusCode code;
    std::string message;
  } kCases[] = {
      {[](RingFrame& open) { open.kind = RingFrameKind::kChunk; },
       absl::StatusCode::kInvalidArgument, "begins with an OPEN"},
      {[](RingFrame& open) { open.rank = 3; },
       absl::StatusCode::kInvalidArgument, "rank 3 is no peer"},
      {[](RingFrame& open) { open.rank = 0; },
       absl::StatusCode::kInvalidArgument, "rank 0 is no peer"},
      {[](RingFrame& open) { open.to = 2; }, absl::StatusCode::kInvalidArgument,
       "looks for rank 2 of 3"},
      {[](RingFrame& open) { open.fleet_size = 4; },
       absl::StatusCode::kInvalidArgument, "looks for rank 0 of 4"},
      {[](RingFrame& open) { open.membership_epoch = 4; },
       absl::StatusCode::kAborted, "epoch 4 of rank 1 is over"},
      {[](RingFrame& open) { open.membership_epoch = 6; },
       absl::StatusCode::kUnavailable, "still in membership epoch 5"},
      {[](RingFrame& open) { open.incarnation = 10; },
       absl::StatusCode::kAborted, "another process is rank 1"},
      {[](RingFrame& open) { open.incarnation = 12; },
       absl::StatusCode::kAborted, "another process is rank 1"},
  };
  for (const auto& each : kCases) {
    RingFrame open = OpenOf(1);
    each.change(open);
    EXPECT_THAT(core_.Admit(open),
                StatusIs(each.code, HasSubstr(each.message)));
  }
  EXPECT_FALSE(core_.has_failed());
  EXPECT_OK(core_.Admit(OpenOf(1)));
  EXPECT_THAT(core_.Admit(OpenOf(1)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("are there two of it?")));
  EXPECT_FALSE(core_.has_failed());
}

TEST_F(RingCoreTest, EarlyStreamsWait) {
  RingCore early;
  ASSERT_OK_AND_ASSIGN(const bool admitted, early.Admit(OpenOf(1)));
  EXPECT_FALSE(admitted);
}

TEST_F(RingCoreTest, ChunksArriveInOrderWithoutAGap) {
  Connect(1);
  ASSERT_OK_AND_ASSIGN(const bool delivered, core_.Deliver(1, ChunkOf(1, 1)));
  EXPECT_TRUE(delivered);
  EXPECT_THAT(core_.Deliver(1, ChunkOf(1, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("chunk 1 of rank 1 came where 2 was due")));
  EXPECT_THAT(core_.Deliver(1, ChunkOf(1, 3)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("or one was lost")));
  EXPECT_OK(core_.Deliver(1, ChunkOf(1, 2)));
  EXPECT_OK(core_.Receive(1));
  EXPECT_OK(core_.Receive(1));
}

// Rank 0 and rank 1, configured to share memory or not.
class SharingOnceTest : public ::testing::Test {
 protected:
  static RingIdentity Identity(int rank, bool shares) {
    return {.rank = rank,
            .incarnations = {10, 11},
            .membership_epoch = 5,
            .shares_memory = {shares, shares},
            .slot_bytes = kBytes};
  }
  // Opens a stream of `from` to `to`.
  static void Connect(RingCore& from, int from_rank, RingCore& to,
                      int to_rank) {
    (void)from.TakeUnconnected();
    EXPECT_OK(to.Admit(from.OpenFrame(to_rank)));
    EXPECT_OK(from.Accept(to.AcceptFrame(from_rank), to_rank));
  }
  static Chunk Filled(RingCore& core, int to, int64_t bytes, char value) {
    const PayloadRoom room = core.RoomFor(to, bytes);
    std::ranges::fill(room.bytes, std::byte(value));
    return {.payload = {room.Written()}};
  }
  static constexpr int64_t kBytes = 20'000;
};

class SharingTest
    : public SharingOnceTest,
      public ::testing::WithParamInterface<std::pair<bool, bool>> {};

TEST_P(SharingTest, PayloadsGoThroughMemoryIfBothRanksShareIt) {
  const auto [first_shares, second_shares] = GetParam();
  const bool both = first_shares && second_shares;
  RingCore first;
  RingCore second;
  first.Configure(Identity(0, first_shares));
  second.Configure(Identity(1, second_shares));
  Connect(first, 0, second, 1);
  // Longer than a slot, one slot, and too short for shared memory.
  for (const int64_t bytes : {kBytes + 1, kBytes, int64_t{100}}) {
    EXPECT_OK(first.Send(1, Filled(first, 1, bytes, 'x')));
    const std::optional<RingFrame> frame = first.NextFor(1);
    ASSERT_TRUE(frame.has_value());
    const bool shared = both && bytes == kBytes;
    EXPECT_EQ(frame->shared_slot.has_value(), shared);
    EXPECT_EQ(frame->chunk.payload.empty(), shared);
    ASSERT_OK_AND_ASSIGN(const bool delivered, second.Deliver(0, *frame));
    EXPECT_TRUE(delivered);
    ASSERT_OK_AND_ASSIGN(const Chunk chunk, second.Receive(0));
    ASSERT_EQ(chunk.size(), bytes);
    EXPECT_EQ(std::ranges::count(chunk.payload[0].span(), std::byte('x')),
              bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharingTest,
                         ::testing::Values(std::pair(true, true),
                                           std::pair(true, false),
                                           std::pair(false, true)));

TEST_F(SharingOnceTest, ChunksBeyondTheMemoryAreSentInTheStream) {
  RingCore first;
  RingCore second;
  first.Configure(Identity(0, true));
  second.Configure(Identity(1, true));
  Connect(first, 0, second, 1);
  // The second rank reads nothing, so that all slots become occupied.
  int shared = 0;
  for (int i = 0; i < 100; ++i) {
    EXPECT_OK(first.Send(1, Filled(first, 1, kBytes, 'x')));
    const std::optional<RingFrame> frame = first.NextFor(1);
    ASSERT_TRUE(frame.has_value());
    if (frame->shared_slot.has_value()) ++shared;
  }
  EXPECT_GT(shared, 4);
  EXPECT_LT(shared, 100);
}

TEST_F(SharingOnceTest, APayloadInSharedMemoryIsRefusedWithoutSharing) {
  RingCore core;
  core.Configure(Identity(0, true));
  RingFrame open = OpenOf(1);
  open.fleet_size = 2;
  EXPECT_OK(core.Admit(open));
  RingFrame frame = ChunkOf(1, 1);
  frame.shared_slot = 0;
  frame.shared_bytes = 100;
  EXPECT_THAT(core.Deliver(1, frame),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in shared memory, and there is none")));
}

TEST_F(RingCoreTest, EveryMessageNamesItsSender) {
  Connect(1);
  RingFrame frame = ChunkOf(1, 1);
  frame.incarnation = 9;
  EXPECT_THAT(
      core_.Deliver(1, frame),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 1")));
  frame = ChunkOf(1, 1);
  frame.membership_epoch = 4;
  EXPECT_THAT(
      core_.Deliver(1, frame),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 1")));
  EXPECT_THAT(core_.Deliver(1, ChunkOf(2, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in the stream of rank 1")));
  EXPECT_THAT(
      core_.Deliver(1, OpenOf(1)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unexpected")));
}

TEST_F(RingCoreTest, AFullInboxMakesThePeerWait) {
  Connect(1);
  int64_t number = 1;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const bool delivered,
                         core_.Deliver(1, ChunkOf(1, number)));
    if (!delivered) break;
    ++number;
    ASSERT_LT(number, 100);
  }
  EXPECT_OK(core_.Receive(1));
  ASSERT_OK_AND_ASSIGN(const bool delivered,
                       core_.Deliver(1, ChunkOf(1, number)));
  EXPECT_TRUE(delivered);
}

TEST_F(RingCoreTest, AChunkFromBeforeAFailureCanStillBeReceived) {
  Connect(1);
  Connect(2);
  EXPECT_OK(core_.Deliver(1, ChunkOf(1, 1)));
  core_.IncomingEnded(2, absl::UnavailableError("socket closed"));
  EXPECT_OK(core_.Receive(1));
  EXPECT_THAT(core_.Receive(1),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("rank 2 is lost: socket closed")));
  EXPECT_THAT(core_.Send(1, {}), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("rank 2 is lost")));
}

TEST_F(RingCoreTest, AFailureReachesAllRanksInItsOriginalWords) {
  Connect(1);
  Connect(2);
  RingFrame abort = ChunkOf(1, 0);
  abort.kind = RingFrameKind::kAbort;
  abort.origin = 1;
  abort.reason = absl::CancelledError("SIGTERM");
  EXPECT_OK(core_.Deliver(1, abort));
  EXPECT_TRUE(core_.HasLeft(1));
  EXPECT_THAT(core_.Receive(2),
              StatusIs(absl::StatusCode::kCancelled, "rank 1: SIGTERM"));
  const std::optional<RingFrame> told = core_.NextFor(2);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->kind, RingFrameKind::kAbort);
  EXPECT_EQ(told->origin, 1);
  EXPECT_EQ(told->reason, absl::CancelledError("SIGTERM"));
  EXPECT_FALSE(core_.NextFor(2).has_value());
}

TEST_F(RingCoreTest, ASentChunkArrivesBeforeTheGoodbye) {
  Connect(1);
  EXPECT_OK(core_.Send(1, {.offset = 77}));
  core_.Leave();
  const std::optional<RingFrame> chunk = core_.NextFor(1);
  ASSERT_TRUE(chunk.has_value());
  EXPECT_EQ(chunk->kind, RingFrameKind::kChunk);
  EXPECT_EQ(chunk->number, 1);
  EXPECT_EQ(chunk->chunk.offset, 77);
  const std::optional<RingFrame> last = core_.NextFor(1);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->kind, RingFrameKind::kGoodbye);
}

TEST_F(RingCoreTest, APeerThatSaidGoodbyeIsNotReportedAsLost) {
  Connect(1);
  EXPECT_OK(core_.Deliver(1, ChunkOf(1, 1)));
  RingFrame goodbye = ChunkOf(1, 0);
  goodbye.kind = RingFrameKind::kGoodbye;
  EXPECT_OK(core_.Deliver(1, goodbye));
  core_.IncomingEnded(1, absl::OkStatus());
  core_.OutgoingEnded(1, absl::UnavailableError("this rank has left"));
  EXPECT_FALSE(core_.has_failed());
  EXPECT_OK(core_.Receive(1));
  EXPECT_THAT(core_.Receive(1), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("rank 1 has left")));
  EXPECT_THAT(core_.Send(1, {}), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("rank 1 has left")));
}

TEST_F(RingCoreTest, ConnectingIsRetriedUnlessItIsRefused) {
  EXPECT_EQ(core_.TakeUnconnected(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(core_.TakeUnconnected().empty());
  core_.OutgoingEnded(2, absl::UnavailableError("nobody listens"));
  EXPECT_THAT(core_.waits_for(),
              HasSubstr("rank 2 to connect (nobody listens)"));
  EXPECT_EQ(core_.rank_waited_for(), 1);
  ASSERT_OK_AND_ASSIGN(const bool connected,
                       core_.WaitForPeers(absl::InfinitePast()));
  EXPECT_FALSE(connected);
  EXPECT_EQ(core_.TakeUnconnected(), std::vector<int>{2});
  core_.OutgoingEnded(2, absl::AbortedError("incarnation 10 was superseded"));
  EXPECT_THAT(core_.WaitForPeers(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("rank 2 refuses rank 0: incarnation 10")));
}

TEST_F(RingCoreTest, AConnectionThatBreaksBeforeItsAcceptIsALoss) {
  (void)core_.TakeUnconnected();
  core_.OutgoingEnded(2, absl::UnavailableError("Socket closed"));
  EXPECT_FALSE(core_.has_failed());
  (void)core_.TakeUnconnected();
  core_.OutgoingEnded(2, absl::AlreadyExistsError("is connected already"));
  EXPECT_THAT(core_.WaitForPeers(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("rank 2 is lost: is connected already")));
}

TEST_F(RingCoreTest, AWrongAnswerIsNotAnAccept) {
  (void)core_.TakeUnconnected();
  RingFrame accept = OpenOf(1);
  EXPECT_THAT(core_.Accept(accept, 1),
              StatusIs(absl::StatusCode::kInvalidArgument));
  accept.kind = RingFrameKind::kAccept;
  EXPECT_THAT(core_.Accept(accept, 2),
              StatusIs(absl::StatusCode::kInvalidArgument));
  accept.incarnation = 3;
  EXPECT_THAT(core_.Accept(accept, 1), StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace gandem::testing
