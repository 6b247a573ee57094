// SPDX-License-Identifier: Apache-2.0
//
// Tests of the algorithms and the collective's thread over in-process queues.
#include "collective/collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "collective/transport_collective.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "tests/collective/collective_contract.h"
#include "tests/testing/eventually.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr ElementType kTypes[] = {ElementType::kFloat32, ElementType::kFloat64,
                                  ElementType::kBfloat16,
                                  ElementType::kFloat16};
constexpr int64_t kSmall = 96;
// Returns limits so small that a few hundred elements are many chunks.
RunnerOptions Tiny() { return {.chunk_bytes = 64, .small_bytes = kSmall}; }
RunnerOptions TinyRing() {
  RunnerOptions options = Tiny();
  options.short_bytes = 0;
  return options;
}

std::vector<SumCase> ManyCases() {
  std::vector<SumCase> cases;
  for (const ElementType type : kTypes) {
    for (const size_t count : {0, 1, 2, 3, 12, 13, 24, 25, 48, 49, 100, 333}) {
      cases.push_back({.type = type, .count = count, .seed = cases.size()});
    }
  }
  return cases;
}

class SumTest : public ::testing::TestWithParam<int> {};

TEST_P(SumTest, HasTheDocumentedOrderOnAllRanks) {
  for (const RunnerOptions& runner : {Tiny(), TinyRing()}) {
    const Fleet fleet = MakeInProcessFleet(GetParam(), {.runner = runner});
    CheckSums(fleet, ManyCases(), kSmall, {});
  }
}

TEST_P(SumTest, SumsDoNotDependOnTiming) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Fleet fleet = MakeInProcessFleet(
        GetParam(),
        {.runner = Tiny(), .max_delay = absl::Microseconds(300), .seed = seed});
    std::vector<SumCase> cases = ManyCases();
    std::erase_if(cases, [](const SumCase& each) {
      return each.type != ElementType::kFloat32;
    });
    CheckSums(fleet, cases, kSmall, {});
  }
}

TEST_P(SumTest, BroadcastsAndAllGathersReachAllRanks) {
  for (const RunnerOptions& runner : {Tiny(), TinyRing()}) {
    const Fleet fleet = MakeInProcessFleet(GetParam(), {.runner = runner});
    CheckCopies(fleet, {0, 1, 24, 63, 64, 65, 1000});
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SumTest,
                         ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 11));

// Returns the number of chunks that rank 0 sends, and the ranks that rank 0
// exchanges chunks with, while each rank does `work`.
std::pair<int, std::set<int>> MessagesOf(
    int ranks, const std::function<void(int, Collective&)>& work) {
  auto count = std::make_shared<int>(0);
  auto peers = std::make_shared<std::set<int>>();
  const Fleet fleet = MakeInProcessFleet(
      ranks, {.tamper = [count, peers](int from, int to, Chunk chunk) {
        *count += from == 0 ? 1 : 0;
        if (from == 0) peers->insert(to);
        if (to == 0) peers->insert(from);
        return std::vector<Chunk>{std::move(chunk)};
      }});
  RunRanks(fleet, work);
  return {*count, *peers};
}

// The number of messages is ceil(log2(n)) or twice as much, not 2 (n - 1).
TEST(CollectiveTest, ShortOperationsTakeFewMessages) {
  const auto sum = [](size_t bytes) {
    return [bytes](int, Collective& collective) {
      Bytes values(bytes);
      EXPECT_OK(WaitLong(collective,
                         collective.AllReduce(values, ElementType::kFloat32)));
    };
  };
  EXPECT_EQ(MessagesOf(16, sum(256)).first, 4);
  // Each rank gets the terms of its own segment, and then all get the sums.
  EXPECT_EQ(MessagesOf(16, sum(16 << 10)).first, 8);
  EXPECT_EQ(MessagesOf(16, sum(80 << 10)).first, 8);
  EXPECT_EQ(MessagesOf(16, sum(1 << 20)).first, 30);
  const auto barrier = [](int, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
  };
  EXPECT_EQ(MessagesOf(16, barrier).first, 4);
}

TEST(CollectiveTest, RanksConnectOnlyToThePeersTheyExchangeMessagesWith) {
  const std::vector<std::string> two_hosts = {"a", "a", "a", "a", "a",
                                              "a", "b", "b", "b", "b"};
  for (const std::vector<std::string>& hosts :
       {std::vector<std::string>(), two_hosts}) {
    const int size = 10;
    auto used = std::make_shared<std::set<std::pair<int, int>>>();
    RunnerOptions runner = Tiny();
    runner.hosts = hosts;
    const Fleet fleet = MakeInProcessFleet(
        size, {.runner = runner, .tamper = [used](int from, int to, Chunk c) {
                 used->insert({from, to});
                 return std::vector<Chunk>{std::move(c)};
               }});
    CheckSums(fleet, ManyCases(), kSmall, hosts);
    CheckCopies(fleet, {1, 1000});
    for (const auto& [from, to] : *used) {
      EXPECT_TRUE(OperationRunner::LinksOf(runner, from, size)[to])
          << from << " " << to;
      EXPECT_TRUE(OperationRunner::LinksOf(runner, to, size)[from])
          << from << " " << to;
    }
  }
  const std::vector<bool> links = OperationRunner::LinksOf({}, 5, 64);
  EXPECT_EQ(std::ranges::count(links, true), 11);
}

TEST(HierarchyTest, SumsWithinHostsFirst) {
  for (const std::vector<std::string>& hosts :
       std::vector<std::vector<std::string>>{{"a", "a", "a", "a", "a", "b"},
                                             {"a", "a", "b"},
                                             {"a", "b", "a"},
                                             {"a", "a", "b", "b", "b"},
                                             {"a", "b", "c", "a", "c"}}) {
    RunnerOptions runner = Tiny();
    runner.hosts = hosts;
    const Fleet fleet =
        MakeInProcessFleet(static_cast<int>(hosts.size()), {.runner = runner});
    CheckSums(fleet, ManyCases(), kSmall, hosts);
    CheckCopies(fleet, {100});
  }
}

// One host, or one rank on each host: a hierarchy saves nothing.
TEST(HierarchyTest, ASingleHostOrSingleRanksFormOneRing) {
  for (const std::vector<std::string>& hosts :
       std::vector<std::vector<std::string>>{{"a", "a", "a"},
                                             {"a", "b", "c"}}) {
    RunnerOptions runner = Tiny();
    runner.hosts = hosts;
    const Fleet fleet = MakeInProcessFleet(3, {.runner = runner});
    CheckSums(fleet, ManyCases(), kSmall, {});
  }
}

TEST(CollectiveTest, ALateRankIsNamedAndWaitedFor) {
  const Fleet fleet = MakeInProcessFleet(2, {});
  const auto ticket = fleet[0]->Barrier();
  EXPECT_THAT(
      fleet[0]->Wait(ticket, absl::InfinitePast()),
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("operation 1")));
  // The operation waits for no rank until the thread has started it.
  absl::Status late;
  do {
    late = fleet[0]->Wait(ticket, absl::Now() + absl::Milliseconds(1));
  } while (late.message().find("waiting for") == absl::string_view::npos);
  EXPECT_THAT(late, StatusIs(absl::StatusCode::kDeadlineExceeded,
                             HasSubstr("waiting for a chunk of rank 1")));
  EXPECT_OK(WaitLong(*fleet[1], fleet[1]->Barrier()));
  EXPECT_OK(WaitLong(*fleet[0], ticket));
}

TEST(CollectiveTest, OtherRanksKnowTheRankThatDelaysThem) {
  const Fleet fleet = MakeInProcessFleet(2, {});
  const auto ticket = fleet[0]->Barrier();
  EXPECT_EQ(fleet[0]->waits_for(), -1);  // no rank delays the caller
  {
    const Thread caller("caller",
                        [&] { EXPECT_OK(WaitLong(*fleet[0], ticket)); });
    EXPECT_TRUE(gandem::testing::Eventually(
        [&] { return fleet[0]->waits_for() == 1; }));
    EXPECT_OK(WaitLong(*fleet[1], fleet[1]->Barrier()));
  }
  EXPECT_EQ(fleet[0]->waits_for(), -1);
}

TEST(CollectiveTest, WaitingForAnOperationWaitsForAllEarlierOnes) {
  const Fleet fleet = MakeInProcessFleet(2, {});
  RunRanks(fleet, [](int rank, Collective& collective) {
    std::vector<float> values(8, static_cast<float>(rank + 1));
    const auto first = collective.AllReduce(
        std::as_writable_bytes(std::span(values)), ElementType::kFloat32);
    const auto last = collective.Barrier();
    EXPECT_EQ(last, first + 1);
    EXPECT_OK(WaitLong(collective, last));
    EXPECT_OK(collective.Wait(first, absl::InfinitePast()));
    EXPECT_EQ(values, std::vector<float>(8, 3));
  });
}

using Submission = std::function<Collective::Ticket(Collective&, Bytes&)>;

Submission CollectiveSum(ElementType type) {
  return [type](Collective& collective, Bytes& bytes) {
    return collective.AllReduce(bytes, type);
  };
}

TEST(CollectiveTest, DifferentOperationsAreRefusedOnAllRanks) {
  const std::vector<Submission> submissions = {
      CollectiveSum(ElementType::kFloat32),
      CollectiveSum(ElementType::kFloat64),
      [](Collective& collective, Bytes& bytes) {
        return collective.AllReduce(std::span(bytes).first(64),
                                    ElementType::kFloat32);
      },
      [](Collective& collective, Bytes& bytes) {
        return collective.Broadcast(bytes, 0);
      },
      [](Collective& collective, Bytes& bytes) {
        return collective.Broadcast(bytes, 1);
      },
      [](Collective& collective, Bytes& bytes) {
        return collective.AllGather(bytes);
      },
      [](Collective& collective, Bytes&) { return collective.Barrier(); }};
  for (const int64_t small_bytes : {0, 4096}) {
    for (size_t odd = 1; odd < submissions.size(); ++odd) {
      const Fleet fleet = MakeInProcessFleet(
          3, {.runner = {.chunk_bytes = 64, .small_bytes = small_bytes}});
      std::vector<absl::Status> results(3);
      RunRanks(fleet, [&](int rank, Collective& collective) {
        Bytes bytes(3 * 64);
        submissions[rank == 1 ? odd : 0](collective, bytes);
        results[rank] = WaitLong(collective, collective.Barrier());
        // The buffer is destroyed when this function returns.
      });
      for (const absl::Status& result : results) {
        EXPECT_THAT(result, StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("same operations")))
            << small_bytes << " " << odd;
      }
    }
  }
}

struct Tampering {
  std::string name;
  std::function<std::vector<Chunk>(Chunk)> tamper;
};

SharedBytes Changed(const SharedBytes& bytes) {
  std::vector<std::byte> copy(bytes.span().begin(), bytes.span().end());
  copy[copy.size() / 2] ^= std::byte{4};
  return SharedBytes(std::move(copy));
}

TEST(CollectiveTest, TamperedChunksAreRefusedOnAllRanks) {
  const std::vector<Tampering> ways = {
      {"lost", [](Chunk) { return std::vector<Chunk>(); }},
      {"twice",
       [](Chunk chunk) {
         return std::vector<Chunk>{chunk, chunk};
       }},
      {"short",
       [](Chunk chunk) {
         const SharedBytes& all = chunk.payload[0];
         chunk.payload[0] = all.Slice(0, all.size() - 1);
         return std::vector<Chunk>{chunk};
       }},
      {"moved",
       [](Chunk chunk) {
         chunk.offset += 4;
         return std::vector<Chunk>{chunk};
       }},
      {"changed", [](Chunk chunk) {
         chunk.payload[0] = Changed(chunk.payload[0]);
         return std::vector<Chunk>{chunk};
       }}};
  for (const int64_t small_bytes : {0, 4096}) {
    for (const Tampering& way : ways) {
      auto count = std::make_shared<int>(0);
      const Fleet fleet = MakeInProcessFleet(
          3, {.runner = {.chunk_bytes = 64, .small_bytes = small_bytes},
              .tamper = [&way, count](int from, int to, Chunk chunk) {
                const bool is_it = from == 1 && to == 2 && ++*count == 7;
                return is_it ? way.tamper(std::move(chunk))
                             : std::vector<Chunk>{std::move(chunk)};
              }});
      std::vector<absl::Status> results(3);
      RunRanks(fleet, [&](int rank, Collective& collective) {
        std::vector<Bytes> buffers(12, Bytes(3 * 64));
        Collective::Ticket last = 0;
        for (Bytes& buffer : buffers) {
          last = collective.AllReduce(buffer, ElementType::kFloat32);
        }
        results[rank] = WaitLong(collective, last);
      });
      for (const absl::Status& result : results) {
        EXPECT_THAT(result.code(), AnyOf(absl::StatusCode::kDataLoss,
                                         absl::StatusCode::kInvalidArgument,
                                         absl::StatusCode::kFailedPrecondition))
            << way.name << " " << small_bytes << " " << result;
      }
    }
  }
}

TEST(CollectiveTest, CloseEndsAllRanksWithTheReasonGiven) {
  const Fleet fleet = MakeInProcessFleet(3, {});
  const auto first = fleet[1]->Barrier();
  fleet[0]->Close(absl::CancelledError("SIGTERM"));
  fleet[0]->Close(absl::InternalError("a later reason"));
  EXPECT_THAT(WaitLong(*fleet[0], fleet[0]->Barrier()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGTERM")));
  EXPECT_THAT(
      WaitLong(*fleet[1], first),
      StatusIs(absl::StatusCode::kCancelled, HasSubstr("rank 0: SIGTERM")));
  EXPECT_THAT(WaitLong(*fleet[2], fleet[2]->Barrier()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("rank 0")));
}

TEST(CollectiveTest, AFinishedOperationStaysDoneAfterAFailure) {
  const Fleet fleet = MakeInProcessFleet(2, {});
  std::vector<Collective::Ticket> tickets(2);
  RunRanks(fleet, [&](int rank, Collective& collective) {
    tickets[rank] = collective.Barrier();
    EXPECT_OK(WaitLong(collective, tickets[rank]));
  });
  fleet[0]->Close(absl::CancelledError("enough"));
  EXPECT_OK(fleet[0]->Wait(tickets[0], absl::InfinitePast()));
  EXPECT_FALSE(WaitLong(*fleet[0], fleet[0]->Barrier()).ok());
}

TEST(CollectiveTest, ARankThatLeavesEndsTheOperationsOfTheOthers) {
  Fleet fleet = MakeInProcessFleet(3, {});
  RunRanks(fleet, [](int, Collective& collective) {
    EXPECT_OK(WaitLong(collective, collective.Barrier()));
  });
  fleet[2].reset();
  EXPECT_THAT(WaitLong(*fleet[0], fleet[0]->Barrier()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("has left")));
}

TEST(CollectiveTest, ARankMayLeaveBeforeOthersHaveFinished) {
  for (int round = 0; round < 50; ++round) {
    Fleet fleet = MakeInProcessFleet(4, {});
    RunRanks(fleet, [&](int rank, Collective& collective) {
      EXPECT_OK(WaitLong(collective, collective.Barrier()));
      fleet[rank].reset();
    });
  }
}

TEST(CollectiveTest, CanBeDestroyedWithOperationsInFlight) {
  // Rank 2 submits nothing, so no operation can finish.
  Fleet fleet = MakeInProcessFleet(3, {});
  fleet[0]->Barrier();
  const auto waiting = fleet[1]->Barrier();
  fleet[0].reset();
  EXPECT_THAT(WaitLong(*fleet[1], waiting),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("destroyed")));
}

TEST(CollectiveTest, SentBytesAreTheBytesGivenToTheTransport) {
  for (const std::vector<std::string>& hosts :
       std::vector<std::vector<std::string>>{{}, {"a", "a", "b"}}) {
    for (const int64_t small_bytes : {0, 4096}) {
      auto sent = std::make_shared<std::vector<int64_t>>(3);  // by rank
      const Fleet fleet =
          MakeInProcessFleet(3, {.runner = {.hosts = hosts,
                                            .chunk_bytes = 64,
                                            .small_bytes = small_bytes},
                                 .tamper = [sent](int from, int, Chunk chunk) {
                                   (*sent)[from] += chunk.size();
                                   return std::vector<Chunk>{std::move(chunk)};
                                 }});
      RunRanks(fleet, [](int, Collective& collective) {
        Bytes bytes(3 * 100);
        collective.AllReduce(bytes, ElementType::kFloat32);
        collective.Broadcast(bytes, 1);
        collective.AllGather(bytes);
        EXPECT_OK(WaitLong(collective, collective.Barrier()));
      });
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(fleet[rank]->stats().sent_bytes, (*sent)[rank]);
        EXPECT_GT((*sent)[rank], 0);
      }
    }
  }
}

// Each rank sends 2 (m - 1) / m of the buffer (docs/collective.md).
TEST(CollectiveTest, ARingSendsTwiceTheBufferExceptOneSegment) {
  const Fleet fleet = MakeInProcessFleet(4, {.runner = {.small_bytes = 0}});
  RunRanks(fleet, [](int, Collective& collective) {
    Bytes bytes(4000);
    EXPECT_OK(WaitLong(collective,
                       collective.AllReduce(bytes, ElementType::kFloat32)));
    EXPECT_EQ(collective.stats().sent_bytes, 2 * 3 * 1000);
  });
}

TEST(CollectiveTest, TheCollectiveIsBusyDuringAnOperation) {
  const Fleet fleet = MakeInProcessFleet(2, {});
  EXPECT_EQ(fleet[0]->stats().busy, absl::ZeroDuration());
  const absl::Time begin = MonotonicNow();
  const auto ticket = fleet[0]->Barrier();
  while (fleet[0]->stats().busy < absl::Milliseconds(5)) {
  }
  // No caller has waited for the operation yet.
  EXPECT_EQ(fleet[0]->stats().waited, absl::ZeroDuration());
  // Waiting starts when the call checks the operation, which may be late.
  while (fleet[0]->stats().waited < absl::Milliseconds(5)) {
    EXPECT_FALSE(
        fleet[0]->Wait(ticket, MonotonicNow() + absl::Milliseconds(5)).ok());
  }
  const CollectiveStats under_way = fleet[0]->stats();
  EXPECT_GE(under_way.busy, under_way.waited + absl::Milliseconds(5));
  EXPECT_OK(WaitLong(*fleet[1], fleet[1]->Barrier()));
  EXPECT_OK(WaitLong(*fleet[0], ticket));
  const absl::Duration all = MonotonicNow() - begin;
  const CollectiveStats stats = fleet[0]->stats();
  EXPECT_GE(stats.waited, absl::Milliseconds(5));
  EXPECT_GE(stats.busy, under_way.busy);
  EXPECT_LE(stats.busy, all);
  EXPECT_EQ(fleet[0]->stats().busy, stats.busy);
  EXPECT_OK(fleet[0]->Wait(ticket, absl::InfinitePast()));
  EXPECT_EQ(fleet[0]->stats().waited, stats.waited);
}

}  // namespace
}  // namespace gandem::testing
