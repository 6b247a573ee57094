// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory/page_allocator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace gandem {
namespace {

int64_t MappedBytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// The heap would keep the pages while the small string behind each exists.
TEST(PageAllocatorTest, PagesAreFreedImmediately) {
  constexpr int kBlocks = 64;
  constexpr int64_t kBlockBytes = 1 << 20;
  const int64_t before = MappedBytes();
  std::vector<PagedString> blocks;
  std::vector<std::string> small;
  for (int block = 0; block < kBlocks; ++block) {
    blocks.emplace_back(kBlockBytes, 'x');
    small.emplace_back(100, 'y');
  }
  EXPECT_GE(MappedBytes() - before, kBlocks * kBlockBytes);
  EXPECT_EQ(blocks[7][kBlockBytes - 1], 'x');
  blocks.clear();
  EXPECT_LT(MappedBytes() - before, kBlocks * kBlockBytes / 2);
}

}  // namespace
}  // namespace gandem
