// SPDX-License-Identifier: Apache-2.0
#include "common/process/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "common/files/file.h"
#include "common/process/cores.h"
#include "tests/testing/memory.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

TEST(MachineTest, NameAndKindDoNotChange) {
  EXPECT_FALSE(MachineName().empty());
  EXPECT_EQ(MachineKind(/*with_gpus=*/false), MachineKind(false));
}

TEST(MachineTest, ThePeakIsKeptWhenMemoryIsFreed) {
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

TEST(MachineTest, AnotherProcessIsSelectedByItsId) {
  EXPECT_GT(ResidentMemory(getpid()).now_bytes, 0);
  // No process has this number.
  EXPECT_EQ(ResidentMemory(1 << 30).now_bytes, 0);
}

TEST(MachineTest, FreeMemoryIsAtMostTheTotal) {
  EXPECT_GT(FreeMemory(), 0);
  EXPECT_LE(FreeMemory(), TotalMemory());
}

// Covers both cgroup versions, the group's own quota and a parent's.
TEST(QuotaTest, TheSmallestQuotaCounts) {
  const testing::TempDir root;
  const auto write = [&root](const std::string& path, const std::string& text) {
    ASSERT_OK(CreateDirectories(ParentOf(root / path)));
    ASSERT_OK(WriteFile(root / path, text));
  };
  write("a/cpu.max", "250000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(QuotaCores("0::/a/b\n", root.path()), 2.5);
  EXPECT_EQ(QuotaCores("0::/a\n", root.path()), 2.5);
  EXPECT_EQ(QuotaCores("0::/\n", root.path()),
            std::numeric_limits<double>::infinity());
  write("cpu/c/cpu.cfs_quota_us", "50000\n");
  write("cpu/c/cpu.cfs_period_us", "100000\n");
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  // In a container the file names a folder of the host.
  const std::string first = "3:memory:/c\n2:cpu,cpuacct:/c/host/only\n";
  EXPECT_EQ(QuotaCores(first, root.path()), 0.5);
  EXPECT_EQ(QuotaCores("2:cpuset:/c\n", root.path()),
            std::numeric_limits<double>::infinity());
}

TEST(QuotaTest, UsableCoresAreAtMostTheAllowedOnes) {
  EXPECT_GE(UsableCores(), 1);
  EXPECT_LE(UsableCores(), static_cast<int>(AllowedCores().size()));
}

}  // namespace
}  // namespace gandem
