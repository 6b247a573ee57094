// SPDX-License-Identifier: Apache-2.0
//
// Rings over gRPC and real sockets, all ranks in this process.
#include "collective/ring_collective.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "collective/ring_codec.h"
#include "common/process/failpoint.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/guarded_calls.h"
#include "tests/collective/collective_contract.h"
#include "tests/collective/ring_testing.h"
#include "tests/testing/socket_proxy.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kSmallBytes = int64_t{64} << 10;  // RunnerOptions' default

// Returns cases that take many chunks of 4 KiB.
std::vector<SumCase> ManyCases() {
  std::vector<SumCase> cases;
  for (const ElementType type :
       {ElementType::kFloat32, ElementType::kFloat64, ElementType::kBfloat16,
        ElementType::kFloat16}) {
    for (const size_t count : {0, 1, 1001, 65537}) {
      cases.push_back({.type = type, .count = count, .seed = cases.size()});
    }
  }
  return cases;
}

class RingTest : public ::testing::TestWithParam<int> {};

TEST_P(RingTest, SumsHaveTheDocumentedOrder) {
  const TempDir dir;
  const Fleet fleet = MakeRingFleet(GetParam(), dir, {});
  CheckSums(fleet, ManyCases(), kSmallBytes, {});
  CheckCopies(fleet, {0, 1, 5000, 100001});
}

TEST_P(RingTest, SumsThroughSharedMemoryAreTheSame) {
  const TempDir dir;
  const Fleet fleet = MakeRingFleet(GetParam(), dir, {.chunk_bytes = 32 << 10});
  std::vector<SumCase> cases;
  for (const size_t count : {20'001, 100'001, 300'001}) {
    cases.push_back({.count = count, .seed = count});
  }
  CheckSums(fleet, cases, kSmallBytes, {});
  CheckCopies(fleet, {16 << 10, 100001});
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingTest, ::testing::Values(1, 2, 3, 4, 5, 8));

// Ranks 3 and 5 have no connection with rank 0.
TEST(RingTest, AReasonReachesRanksWithoutAConnection) {
  const TempDir dir;
  const Fleet fleet = MakeRingFleet(8, dir, {});
  absl::Barrier past_the_first(8);
  RunRanks(fleet, [&](int rank, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
    past_the_first.Block();
    if (rank == 0) collective.Close(absl::CancelledError("SIGTERM"));
    EXPECT_THAT(WaitLong(collective, collective.Barrier()),
                StatusIs(absl::StatusCode::kCancelled,
                         rank == 0 ? "SIGTERM" : "rank 0: SIGTERM"));
  });
}

TEST(RingTest, CountsTheBytesItSends) {
  const TempDir dir;
  const Fleet fleet = MakeRingFleet(2, dir, {});
  RunRanks(fleet, [](int, Collective& collective) {
    Bytes bytes(200000);
    EXPECT_OK(WaitLong(collective,
                       collective.AllReduce(bytes, ElementType::kFloat32)));
    EXPECT_EQ(collective.stats().sent_bytes, 200000);
    EXPECT_GT(collective.stats().busy, absl::ZeroDuration());
  });
}

TEST(RingHostsTest, HostsUseTcpBetweenThemAndSumWithinAHostFirst) {
  const TempDir dir;
  const std::vector<std::string> hosts = {"a", "a", "b", "b"};
  const Fleet fleet = MakeRingFleet(4, dir, {.hosts = hosts});
  CheckSums(fleet, ManyCases(), kSmallBytes, hosts);
  CheckCopies(fleet, {5000});
}

TEST(RingTest, ARankMayLeaveBeforeOthersHaveFinished) {
  for (int round = 0; round < 5; ++round) {
    const TempDir dir;
    Fleet fleet = MakeRingFleet(3, dir, {});
    RunRanks(fleet, [&](int rank, Collective& collective) {
      EXPECT_OK(WaitLong(collective, collective.Barrier()));
      fleet[rank].reset();
    });
  }
}

// The socket is unreachable, as from another mount namespace; the ranks still
// share a host.
TEST(RingTest, AnUnreachableSocketIsReplacedByTheNetwork) {
  const TempDir dir;
  const RingFleetOptions options = {.hosts = {"a", "a"}};
  RingAddresses addresses = Listen(2, dir, options);
  addresses.peers[1].local_address = absl::StrCat("unix:", dir / "nobody");
  Fleet fleet;
  fleet.push_back(Join(addresses, 0, options));
  fleet.push_back(Join(addresses, 1, options));
  RunRanks(fleet, [&](int, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
  });
}

TEST(RingTest, AMissingRankIsNamedAndMayConnectLater) {
  const TempDir dir;
  RingAddresses addresses = Listen(3, dir, {});
  Fleet fleet;
  fleet.push_back(Join(addresses, 0, {}));
  fleet.push_back(Join(addresses, 1, {}));
  const auto ticket = fleet[0]->Barrier();
  absl::Status late;
  do {
    late = fleet[0]->Wait(ticket, absl::Now() + absl::Milliseconds(20));
  } while (absl::StrContains(late.message(), "rank 1"));
  EXPECT_THAT(late, StatusIs(absl::StatusCode::kDeadlineExceeded,
                             HasSubstr("waiting for rank 2 to connect")));
  fleet.push_back(Join(addresses, 2, {}));
  RunRanks(fleet, [&](int rank, Collective& collective) {
    EXPECT_OK(WaitLong(collective, rank == 0 ? ticket : collective.Barrier()));
  });
}

// Many repetitions also cancel while a thread is opening a stream.
TEST(RingTest, WaitingForPeersCanBeCancelled) {
  for (int i = 0; i < 50; ++i) {
    const TempDir dir;
    RingAddresses addresses = Listen(2, dir, {});
    const auto ring = Join(addresses, 0, {});
    const auto ticket = ring->Barrier();
    ring->Close(absl::CancelledError("SIGTERM"));
    EXPECT_THAT(WaitLong(*ring, ticket),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGTERM")));
  }
}

TEST(RingTest, DifferentOperationsAreRefusedOnAllRanks) {
  const TempDir dir;
  const Fleet fleet = MakeRingFleet(3, dir, {});
  RunRanks(fleet, [](int rank, Collective& collective) {
    Bytes bytes(300000);
    collective.AllReduce(
        bytes, rank == 1 ? ElementType::kFloat16 : ElementType::kFloat32);
    EXPECT_THAT(WaitLong(collective, collective.Barrier()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("same operations")));
  });
}

TEST(RingTest, CloseEndsAllRanksWithTheReasonGiven) {
  const TempDir dir;
  const Fleet fleet = MakeRingFleet(3, dir, {});
  // A rank that still waits in the first barrier would end there.
  absl::Barrier past_the_first(3);
  RunRanks(fleet, [&](int rank, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
    past_the_first.Block();
    if (rank == 0) collective.Close(absl::CancelledError("SIGTERM"));
    EXPECT_THAT(WaitLong(collective, collective.Barrier()),
                StatusIs(absl::StatusCode::kCancelled,
                         rank == 0 ? "SIGTERM" : "rank 0: SIGTERM"));
  });
}

TEST(RingTest, RanksOfAnOldMembershipFail) {
  const TempDir dir;
  RingAddresses addresses = Listen(2, dir, {});
  const auto zombie = Join(addresses, 0, {.membership_epoch = 1});
  const auto current = Join(addresses, 1, {.membership_epoch = 2});
  EXPECT_THAT(WaitLong(*zombie, zombie->Barrier()),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("membership epoch 1 of rank 0 is over")));
  // Rank 1 still waits for a rank 0 of the new membership.
  EXPECT_THAT(current->Wait(current->Barrier(), absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(RingTest, ASupersededProcessIsRefused) {
  const TempDir dir;
  RingAddresses addresses = Listen(2, dir, {});
  RingAddresses of_zombie = {.listeners = {}, .peers = addresses.peers};
  of_zombie.listeners.push_back(std::move(addresses.listeners[0]));
  addresses.peers[0].incarnation += 1;
  const auto zombie = Join(of_zombie, 0, {});
  const auto current = Join(addresses, 1, {});
  // The process sees the refusal, or its peer's disconnect, whichever is first.
  EXPECT_THAT(
      WaitLong(*zombie, zombie->Barrier()),
      AnyOf(StatusIs(absl::StatusCode::kAborted,
                     HasSubstr("another process is rank 0")),
            StatusIs(absl::StatusCode::kUnavailable, "rank 1 is lost")));
}

TEST(RingTest, ACutConnectionEndsTheMembership) {
  const TempDir dir;
  RingAddresses addresses = Listen(3, dir, {});
  ASSERT_OK_AND_ASSIGN(const auto proxy,
                       SocketProxy::Start(dir / "proxy", dir / "1"));
  RingAddresses of_first = {.listeners = {}, .peers = addresses.peers};
  of_first.listeners.push_back(std::move(addresses.listeners[0]));
  of_first.peers[1].local_address = absl::StrCat("unix:", dir / "proxy");
  Fleet fleet;
  fleet.push_back(Join(of_first, 0, {}));
  fleet.push_back(Join(addresses, 1, {}));
  fleet.push_back(Join(addresses, 2, {}));
  RunRanks(fleet, [&](int rank, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
    if (rank == 0) proxy->CutAfter(100000);
    Bytes bytes(1 << 20);
    const auto ticket = collective.AllReduce(bytes, ElementType::kFloat32);
    EXPECT_THAT(WaitLong(collective, ticket),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is lost")));
  });
  EXPECT_EQ(proxy->num_cuts(), 1);
}

TEST(RingTest, OptionsAreChecked) {
  const TempDir dir;
  EXPECT_THAT(RingListener::Start({}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs a local_address")));
  EXPECT_THAT(RingListener::Start({.network_address = "0.0.0.0:0"}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  const auto create = [&](const RingOptions& options) {
    auto listener = RingListener::Start(
        {.local_address = absl::StrCat("unix:", dir / "socket")});
    GANDEM_CHECK_OK(listener.status());
    return CreateRing(*std::move(listener), options).status();
  };
  EXPECT_THAT(create({.rank = 2, .peers = {{}, {}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "ring: rank 2 is not in [0, 1]"));
  EXPECT_THAT(create({.rank = 0, .peers = {{}, {.host = "b"}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "ring: rank 1 has no address for rank 0"));
}

// Tests with a peer that violates the protocol.

// A gRPC client that claims to be a rank and has the run's token. Every wait
// ends after half a minute.
class Stranger {
 public:
  Stranger(const std::string& address, const std::string& opening)
      : stub_(GuardedChannel(address, *ParseAddress(address), {},
                             ProcessCredentials())) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(30));
    stream_ = stub_.PrepareCall(&context_, "/gandem.Ring/Connect", &queue_);
    stream_->StartCall(this);
    Wait();
    Write(opening);
  }
  ~Stranger() {
    context_.TryCancel();
    if (!finished_) (void)Finish();
    queue_.Shutdown();
    Wait();
  }

  void Write(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    stream_->Write(grpc::ByteBuffer(&slice, 1), this);
    Wait();
  }
  // Returns whether an answer came.
  bool Read() {
    grpc::ByteBuffer answer;
    stream_->Read(&answer, this);
    return Wait();
  }
  // Returns the status of the stream.
  absl::Status Finish() {
    finished_ = true;
    grpc::Status status;
    stream_->Finish(&status, this);
    Wait();
    return FromGrpcStatus(status);
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool finished_ = false;
};

RingFrame OpenOfRankOne() {
  return {.kind = RingFrameKind::kOpen,
          .membership_epoch = 1,
          .incarnation = 101,
          .rank = 1,
          .to = 0,
          .fleet_size = 2};
}

RingFrame ChunkOfRankOne(int64_t number) {
  RingFrame frame = OpenOfRankOne();
  frame.kind = RingFrameKind::kChunk;
  frame.number = number;
  frame.chunk.tag = {.number = 1, .kind = OperationKind::kBarrier};
  return frame;
}

TEST(RingStrangerTest, AStrangerIsRefusedAndChangesNothing) {
  const TempDir dir;
  RingAddresses addresses = Listen(2, dir, {});
  const std::string address = addresses.peers[0].local_address;
  Fleet fleet;
  fleet.push_back(Join(addresses, 0, {}));
  fleet.push_back(Join(addresses, 1, {}));
  RunRanks(fleet, [](int, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
  });
  RingFrame old = OpenOfRankOne();
  old.incarnation = 1;
  const std::string chunk = EncodeRingHead(ChunkOfRankOne(2));
  const std::pair<std::string, absl::StatusCode> strangers[] = {
      {"", absl::StatusCode::kInvalidArgument},
      {"GET / HTTP/1.1", absl::StatusCode::kDataLoss},
      {chunk, absl::StatusCode::kInvalidArgument},
      {EncodeRingHead(old), absl::StatusCode::kAborted},
      {EncodeRingHead(OpenOfRankOne()), absl::StatusCode::kAlreadyExists}};
  for (const auto& [opening, code] : strangers) {
    Stranger stranger(address, opening);
    stranger.Write(EncodeRingHead(OpenOfRankOne()));  // stays unread
    EXPECT_FALSE(stranger.Read());
    EXPECT_THAT(stranger.Finish(), StatusIs(code));
  }
  RunRanks(fleet, [](int, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
  });
}

// Damages OPEN, a header, or a payload on a socket or in shared memory: the
// rank that detects the damage reports it, and the receiving rank fails.
TEST(RingDamageTest, DamageIsReportedAndEndsTheMembership) {
  struct Fault {
    std::string failpoint;
    bool shares_memory = false;
  };
  const Fault faults[] = {{"corrupt=0 ring.encode_frame:1"},
                          {"corrupt=999 ring.encode_frame:5"},
                          {"corrupt=2 ring.encode_frame:5", true},
                          {"corrupt=0 collective.write_payload:2"},
                          {"corrupt=400 collective.write_payload:2", true}};
  for (const Fault& fault : faults) {
    const TempDir dir;
    ASSERT_OK(ArmFailpoint(fault.failpoint));
    std::atomic<int> told = 0;
    RingAddresses addresses = Listen(2, dir, {});
    Fleet fleet;
    for (const int rank : {0, 1}) {
      RingOptions options = {.rank = rank,
                             .peers = addresses.peers,
                             .membership_epoch = 3,
                             .shares_memory = fault.shares_memory};
      options.on_damage = [&told] { ++told; };
      fleet.push_back(
          *CreateRing(std::move(addresses.listeners[rank]), options));
    }
    std::vector<absl::Status> ended(2);
    RunRanks(fleet, [&](int rank, Collective& collective) {
      Bytes bytes(200'000);
      for (int i = 0; i < 4 && ended[rank].ok(); ++i) {
        ended[rank] = WaitLong(
            collective, collective.AllReduce(bytes, ElementType::kFloat32));
      }
      // The coordinator also closes a rank that has not connected yet, which
      // would wait for a replacement.
      if (absl::IsDataLoss(ended[rank])) {
        fleet[1 - rank]->Close(absl::CancelledError("the membership is over"));
      }
    });
    fleet.clear();
    ASSERT_OK(ArmFailpoint(""));
    EXPECT_GE(told, 1) << fault.failpoint;
    EXPECT_TRUE(absl::IsDataLoss(ended[0]) || absl::IsDataLoss(ended[1]))
        << fault.failpoint << " " << ended[0] << " " << ended[1];
    EXPECT_FALSE(ended[0].ok() || ended[1].ok()) << fault.failpoint;
  }
}

TEST(RingStrangerTest, BadMessagesOfAPeerEndTheMembership) {
  RingFrame far = ChunkOfRankOne(3);
  RingFrame other = ChunkOfRankOne(1);
  other.rank = 0;
  std::string cut = EncodeRingHead(ChunkOfRankOne(1));
  cut.pop_back();
  const std::string good = EncodeRingHead(ChunkOfRankOne(1));
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{EncodeRingHead(far)}, "chunk 3 of rank 1 came where 1 was due"},
      {{good, good}, "chunk 1 of rank 1 came where 2 was due"},
      {{EncodeRingHead(other)}, "in the stream of rank 1"},
      {{cut}, "malformed message of the ring: checksum"},
      {{EncodeRingHead(OpenOfRankOne())}, "unexpected message of rank 1"}};
  for (const auto& [messages, error] : kCases) {
    const TempDir dir;
    RingAddresses addresses = Listen(2, dir, {});
    const auto ring = Join(addresses, 0, {});
    const auto ticket = ring->Barrier();
    Stranger stranger(addresses.peers[0].local_address,
                      EncodeRingHead(OpenOfRankOne()));
    EXPECT_TRUE(stranger.Read());  // ACCEPT
    for (const std::string& message : messages) stranger.Write(message);
    EXPECT_FALSE(stranger.Read());
    const absl::StatusCode code = messages[0] == cut
                                      ? absl::StatusCode::kDataLoss
                                      : absl::StatusCode::kInvalidArgument;
    EXPECT_THAT(stranger.Finish(), StatusIs(code, HasSubstr(error)));
    // Peers are authenticated, so the cause was damage in transit.
    EXPECT_THAT(WaitLong(*ring, ticket),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(error)));
  }
}

}  // namespace
}  // namespace gandem::testing
