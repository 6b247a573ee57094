// SPDX-License-Identifier: Apache-2.0
#include "pipeline/in_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "absl/status/status.h"
#include "absl/synchronization/barrier.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MakeInParallelTest, ResultsAreInOrder) {
  const auto square = [](int64_t i) -> absl::StatusOr<int64_t> {
    return i * i;
  };
  EXPECT_THAT(*MakeInParallel<int64_t>(5, 1, square),
              ElementsAre(0, 1, 4, 9, 16));
  EXPECT_THAT(*MakeInParallel<int64_t>(5, 16, square),
              ElementsAre(0, 1, 4, 9, 16));
  EXPECT_THAT(*MakeInParallel<int64_t>(0, 16, square), IsEmpty());
}

TEST(MakeInParallelTest, SeveralRunAtTheSameTime) {
  absl::Barrier barrier(3);  // none passes before the others arrive
  const auto made = MakeInParallel<int>(3, 3, [&](int64_t) {
    barrier.Block();
    return absl::StatusOr<int>(1);
  });
  EXPECT_THAT(*made, ElementsAre(1, 1, 1));
}

TEST(MakeInParallelTest, TheFirstFailureEndsTheWork) {
  std::atomic<int> calls = 0;
  const auto made =
      MakeInParallel<int>(100, 1, [&](int64_t i) -> absl::StatusOr<int> {
        ++calls;
        if (i == 3) return absl::DataLossError("the fourth");
        return 1;
      });
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(calls, 4);
}

// Cancelling the caller's read also cancels the reads of its helpers.
TEST(MakeInParallelTest, ReadsEndWithThoseOfTheCaller) {
  std::atomic<bool> stop = true;
  const ScopedReadStop scope(&stop);
  absl::Barrier barrier(2);
  const auto made = MakeInParallel<bool>(2, 2, [&](int64_t) {
    barrier.Block();
    return absl::StatusOr<bool>(ScopedReadStop::Stopped());
  });
  EXPECT_THAT(*made, ElementsAre(true, true));
}

}  // namespace
}  // namespace gandem
