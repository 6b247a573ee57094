// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/paged_bytes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace gandem {
namespace {

int64_t MappedBytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(PagedBytesTest, HoldsACopy) {
  std::string bytes = "abc";
  const PagedBytes held(bytes);
  bytes[0] = 'x';
  EXPECT_EQ(held.view(), "abc");
}

TEST(PagedBytesTest, NoBytesAreSome) { EXPECT_EQ(PagedBytes("").view(), ""); }

// The heap would keep them for as long as the small string behind each lives.
TEST(PagedBytesTest, GivesPagesBackAtOnce) {
  constexpr int kBlocks = 64;
  constexpr int64_t kBlockBytes = 1 << 20;
  const std::string bytes(kBlockBytes, 'x');
  const int64_t before = MappedBytes();
  std::vector<std::unique_ptr<PagedBytes>> blocks;
  std::vector<std::unique_ptr<std::string>> small;
  for (int block = 0; block < kBlocks; ++block) {
    blocks.push_back(std::make_unique<PagedBytes>(bytes));
    small.push_back(std::make_unique<std::string>(100, 'y'));
  }
  EXPECT_GE(MappedBytes() - before, kBlocks * kBlockBytes);
  blocks.clear();
  EXPECT_LT(MappedBytes() - before, kBlocks * kBlockBytes / 2);
}

}  // namespace
}  // namespace gandem
