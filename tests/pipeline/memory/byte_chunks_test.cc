// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory/byte_chunks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "tests/testing/memory.h"

namespace gandem {
namespace {

using ::gandem::testing::ResidentBytes;

TEST(ByteChunksTest, BytesStayValidWhileOthersAreFreed) {
  std::optional<ByteChunks> chunks(std::in_place);
  std::deque<ByteChunks::Bytes> kept;
  int at = 0;
  for (const size_t size : {1, 5'000, 32'768, 32'769, 300'000, 0, 7}) {
    kept.push_back(chunks->Keep(std::string(size, static_cast<char>(at++))));
  }
  kept.erase(kept.begin() + 1);
  chunks.reset();
  EXPECT_EQ(kept[0].view, std::string(1, 0));
  EXPECT_EQ(kept[1].view, std::string(32'768, 2));
  EXPECT_EQ(kept[2].view, std::string(32'769, 3));
  EXPECT_EQ(kept[3].view, std::string(300'000, 4));
  EXPECT_EQ(kept[4].view, "");
  EXPECT_EQ(kept[5].view, std::string(7, 6));
}

TEST(ByteChunksTest, BytesOfAChunkDoNotOverlap) {
  ByteChunks chunks;
  const ByteChunks::Bytes first = chunks.Keep("abc");
  const ByteChunks::Bytes second = chunks.Keep("defg");
  EXPECT_EQ(first.view, "abc");
  EXPECT_EQ(second.view, "defg");
  EXPECT_EQ(first.view.data() + 3, second.view.data());
}

// A queue holds memory only for the pieces in it.
TEST(ByteChunksTest, DroppedBytesReturnToTheSystem) {
  if (!testing::kMeasuresMemory) return;
  constexpr int64_t kMost = int64_t{64} << 20;
  for (const size_t size : {10'000, 48'000}) {
    ByteChunks chunks;
    const std::string bytes(size, 'x');
    const int64_t before = ResidentBytes();
    std::deque<ByteChunks::Bytes> queue;
    const size_t most = kMost / size;
    while (queue.size() < most) queue.push_back(chunks.Keep(bytes));
    EXPECT_GT(ResidentBytes() - before, kMost / 2) << size;
    for (size_t i = 0; i < most; ++i) {
      queue.pop_front();
      queue.push_back(chunks.Keep(bytes));
    }
    while (queue.size() > most / 16) queue.pop_front();
    EXPECT_LT(ResidentBytes() - before, kMost / 8) << size;
  }
}

}  // namespace
}  // namespace gandem
