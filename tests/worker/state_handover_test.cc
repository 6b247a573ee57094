// SPDX-License-Identifier: Apache-2.0
//
// Tests of the choice of the state from which a re-formed fleet resumes.
#include "worker/state_handover.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/process/thread.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using Result = absl::StatusOr<std::vector<NamedTensor>>;

// Returns a state after `updates` updates of `run_epoch`; `mark` identifies it.
HeldState Held(int64_t run_epoch, int64_t updates, char mark) {
  return {.run_epoch = run_epoch,
          .updates = updates,
          .tensors = {{.name = "model.weight",
                       .dtype = DType::kU8,
                       .shape = {300'000},
                       .bytes = SharedBytes(std::vector<std::byte>(
                           300'000, static_cast<std::byte>(mark)))},
                      {.name = "optimizer.step",
                       .dtype = DType::kI64,
                       .shape = {},
                       .bytes = SharedBytes(std::vector<std::byte>(8))}}};
}

// Returns each rank's final state.
std::vector<Result> TakeAll(const std::vector<std::optional<HeldState>>& held) {
  const int size = static_cast<int>(held.size());
  const auto fleet = gandem::testing::MakeInProcessFleet(
      size, {.max_delay = absl::Microseconds(200), .seed = 5});
  std::vector<Result> results(held.size(), absl::UnknownError("not run"));
  {
    std::vector<Thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back("rank", [&, rank] {
        results[rank] = TakeNewestState(held[rank], fleet[rank].get(),
                                        {.poll = absl::Milliseconds(20)});
      });
    }
  }
  return results;
}

void ExpectAll(const std::vector<Result>& results, char mark) {
  for (const Result& result : results) {
    ASSERT_OK(result);
    ASSERT_EQ(result->size(), 2u);
    // Wider elements come first, as in a file.
    EXPECT_EQ((*result)[0].name, "optimizer.step");
    EXPECT_EQ((*result)[1].name, "model.weight");
    ASSERT_EQ((*result)[1].bytes.size(), 300'000u);
    EXPECT_EQ((*result)[1].bytes.data()[299'999], static_cast<std::byte>(mark));
  }
}

TEST(StateHandoverTest, TheNewestStateIsChosen) {
  ExpectAll(TakeAll({Held(3, 40, 'a'), Held(3, 41, 'b'), Held(3, 40, 'c')}),
            'b');
}

TEST(StateHandoverTest, TheLowestRankIsChosenAmongEqualStates) {
  ExpectAll(TakeAll({Held(3, 39, 'a'), Held(3, 40, 'b'), Held(3, 40, 'c')}),
            'b');
}

// The later epoch counts from an earlier round, and its state is as new.
TEST(StateHandoverTest, TheStateOfTheLaterEpochIsChosen) {
  ExpectAll(TakeAll({Held(3, 40, 'a'), Held(4, 38, 'b')}), 'b');
}

TEST(StateHandoverTest, ANewRankReceivesTheState) {
  ExpectAll(TakeAll({std::nullopt, Held(3, 0, 'b')}), 'b');
  ExpectAll(TakeAll({Held(3, 7, 'a'), std::nullopt, std::nullopt}), 'a');
}

TEST(StateHandoverTest, TheOnlyRankKeepsItsState) {
  ExpectAll({TakeNewestState(Held(3, 7, 'a'), nullptr, {})}, 'a');
}

TEST(StateHandoverTest, WithoutAnyStateAllRanksFail) {
  for (const Result& result : TakeAll({std::nullopt, std::nullopt})) {
    EXPECT_THAT(result.status(),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
}

TEST(StateHandoverTest, WaitingForAStateEndsWithTheRun) {
  const auto fleet = gandem::testing::MakeInProcessFleet(2, {});
  int asked = 0;
  const Result result = TakeNewestState(
      Held(3, 7, 'a'), fleet[0].get(),
      {.poll = absl::Milliseconds(1), .interrupted = [&asked] {
         return ++asked < 3 ? absl::OkStatus()
                            : absl::CancelledError("the run epoch is over");
       }});
  EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace gandem
