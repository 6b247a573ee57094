// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory/spare_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "common/process/thread.h"

namespace gandem {
namespace {

// Bytes that the other tests of this thread left would be in the way.
void InAThread(auto test) {
  Thread thread("spare", [&test] { test(); });
  thread.Join();
}

TEST(SpareBytesTest, TheSameMemoryForTheNextImage) {
  InAThread([] {
    std::vector<uint8_t> bytes = TakeSpareBytes(1000);
    EXPECT_EQ(bytes.size(), 1000);
    const uint8_t* const memory = bytes.data();
    KeepSpareBytes(std::move(bytes));
    const std::vector<uint8_t> next = TakeSpareBytes(900);
    EXPECT_EQ(next.data(), memory);
    // It is given away, until it is kept again.
    EXPECT_NE(TakeSpareBytes(900).data(), memory);
  });
}

TEST(SpareBytesTest, EachSizeGetsItsOwn) {
  InAThread([] {
    std::vector<uint8_t> small = TakeSpareBytes(100);
    std::vector<uint8_t> large = TakeSpareBytes(1000);
    const uint8_t* const of_small = small.data();
    const uint8_t* const of_large = large.data();
    KeepSpareBytes(std::move(large));
    KeepSpareBytes(std::move(small));
    const std::vector<uint8_t> again = TakeSpareBytes(100);
    EXPECT_EQ(again.data(), of_small);
    EXPECT_EQ(TakeSpareBytes(1000).data(), of_large);
  });
}

TEST(SpareBytesTest, WhatIsTooLargeIsNotKept) {
  InAThread([] {
    constexpr size_t kSize = 64 << 20;
    std::vector<uint8_t> bytes = TakeSpareBytes(kSize);
    KeepSpareBytes(std::move(bytes));
    EXPECT_LT(TakeSpareBytes(1).capacity(), kSize);
  });
}

}  // namespace
}  // namespace gandem
