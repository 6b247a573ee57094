// SPDX-License-Identifier: Apache-2.0
#include "common/faults.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;

TEST(FaultsTest, ListsEveryFault) {
  Faults faults("ring");
  faults.CheckRange("rank", 4, 0, 1);
  faults.CheckRange("chunk_bytes", int64_t{0}, 4 << 10, 64 << 20);
  faults.CheckRange("decay", 1.5, 0, 1);
  faults.CheckRange("hop_timeout", absl::Seconds(0), absl::Milliseconds(1),
                    absl::Minutes(10));
  faults.Add("peers is empty");
  EXPECT_FALSE(faults.empty());
  EXPECT_THAT(faults.ToStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "ring: rank 4 is not in [0, 1]; chunk_bytes 0 is not in "
                       "[4096, 67108864]; decay 1.5 is not in [0, 1]; "
                       "hop_timeout 0 is not in [1ms, 10m]; peers is empty"));
}

TEST(FaultsTest, BoundsBelongToTheRange) {
  Faults faults("f");
  faults.CheckRange("a", 0, 0, 1);
  faults.CheckRange("a", 1, 0, 1);
  faults.CheckRange("b", 0.0, 0, 1);
  faults.CheckRange("b", 1.0, 0, 1);
  faults.CheckRange("c", absl::Seconds(1), absl::Seconds(1), absl::Seconds(1));
  faults.CheckRange("d", std::numeric_limits<uint64_t>::max(), -1,
                    std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(faults.empty());
  EXPECT_OK(faults.ToStatus());
}

TEST(FaultsTest, NanIsOutsideEveryRange) {
  Faults faults("f");
  faults.CheckRange("rate", std::numeric_limits<double>::quiet_NaN(), -1e300,
                    1e300);
  EXPECT_FALSE(faults.empty());
}

TEST(FaultsTest, ComparesSignedAndUnsignedNumbers) {
  Faults faults("f");
  faults.CheckRange("index", std::numeric_limits<uint64_t>::max(), -1, 10);
  EXPECT_FALSE(faults.empty());
}

}  // namespace
}  // namespace gandem
