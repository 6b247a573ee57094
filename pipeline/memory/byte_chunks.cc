// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory/byte_chunks.h"

#include <algorithm>
#include <utility>

#include "pipeline/memory/page_allocator.h"

namespace gandem {
namespace {

constexpr size_t kChunkBytes = 256 << 10;
// Larger pieces get pages of their own, to waste little of a chunk.
constexpr size_t kMostInChunk = kChunkBytes / 8;

}  // namespace

// Returns memory that no other caller writes to.
ByteChunks::Chunk ByteChunks::TakePlace(size_t size) {
  if (size > kMostInChunk) return MakePages<char>(size);
  absl::MutexLock lock(&mu_);
  if (chunk_ == nullptr || size > kChunkBytes - used_) {
    chunk_ = MakePages<char>(kChunkBytes);
    used_ = 0;
  }
  Chunk place(chunk_, chunk_.get() + used_);
  used_ += size;
  return place;
}

ByteChunks::Bytes ByteChunks::Keep(absl::string_view bytes) {
  if (bytes.empty()) return {};
  Chunk place = TakePlace(bytes.size());
  std::ranges::copy(bytes, place.get());
  const absl::string_view view(place.get(), bytes.size());
  return {.owner = std::move(place), .view = view};
}

}  // namespace gandem
