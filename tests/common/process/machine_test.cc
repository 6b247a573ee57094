// SPDX-License-Identifier: Apache-2.0
#include "common/process/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "tests/testing/memory.h"

namespace gandem {
namespace {

TEST(MachineTest, HasANameAndAKindThatStays) {
  EXPECT_FALSE(MachineName().empty());
  EXPECT_EQ(MachineKind(/*with_gpus=*/false), MachineKind(false));
}

TEST(MachineTest, ThePeakStaysWhenMemoryIsGivenBack) {
  if (!testing::kMeasuresMemory) return;
  constexpr size_t kBytes = size_t{96} << 20;
  const MemoryUse before = ResidentMemory();
  EXPECT_GT(before.now_bytes, 0);
  EXPECT_GE(before.peak_bytes, before.now_bytes);
  {
    const std::vector<char> touched(kBytes, 1);
    EXPECT_EQ(touched[kBytes / 2], 1);
  }
  const MemoryUse after = ResidentMemory();
  EXPECT_GE(after.peak_bytes,
            before.now_bytes + static_cast<int64_t>(kBytes) * 9 / 10);
  EXPECT_LT(after.now_bytes, after.peak_bytes);
}

TEST(MachineTest, AnotherProcessIsNamedByItsNumber) {
  EXPECT_GT(ResidentMemory(getpid()).now_bytes, 0);
  // No process has such a number.
  EXPECT_EQ(ResidentMemory(1 << 30).now_bytes, 0);
}

TEST(MachineTest, FreeMemoryIsPartOfAll) {
  EXPECT_GT(FreeMemory(), 0);
  EXPECT_LE(FreeMemory(), TotalMemory());
}

}  // namespace
}  // namespace gandem
