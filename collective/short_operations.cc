// SPDX-License-Identifier: Apache-2.0
//
// Operations with costly messages; operation_runner.cc has the others.
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "collective/element_sum.h"
#include "collective/operation_runner.h"
#include "common/process/failpoint.h"
#include "common/status.h"

namespace gandem {

absl::Status OperationRunner::SmallAllReduce() {
  std::vector<std::byte> blocks(buffer_.size() * all_.size());
  std::copy(buffer_.begin(), buffer_.end(),
            blocks.begin() + buffer_.size() * all_.place);
  const std::span<std::byte> sums = std::exchange(buffer_, blocks);
  GANDEM_RETURN_IF_ERROR(ExchangeBlocks());
  SumBlocks(tag_.type, blocks, sums);
  return absl::OkStatus();
}

// Sends each rank's block to all ranks. A barrier has empty blocks.
absl::Status OperationRunner::ExchangeBlocks() {
  const std::vector<Range> blocks = Blocks();
  if (all_.size() > kFewRanks) {
    GANDEM_FAILPOINT("collective.half_way");
    return Collect(all_, blocks);
  }
  // Each rank starts with a different peer, so that none is always last.
  for (int step = 1; step < all_.size(); ++step) {
    GANDEM_RETURN_IF_ERROR(
        Send(all_.At(all_.place + step), blocks[all_.place]));
  }
  GANDEM_FAILPOINT("collective.half_way");
  for (int step = 1; step < all_.size(); ++step) {
    const int from = all_.At(all_.place - step);
    GANDEM_RETURN_IF_ERROR(ReceiveInto(from, blocks[from]));
  }
  return absl::OkStatus();
}

std::vector<OperationRunner::Range> OperationRunner::Blocks() const {
  const size_t size = buffer_.size() / all_.size();
  std::vector<Range> blocks;
  for (int i = 0; i < all_.size(); ++i) {
    blocks.push_back({.offset = i * size, .size = size});
  }
  return blocks;
}

bool OperationRunner::HasShortSegments(const Members& members) const {
  const int64_t m = members.size();
  return m > kFewRanks && tag_.bytes <= options_.short_bytes * m;
}

// Row i is the segment that the member i places further adds up. A row moves by
// its number of places, one bit of the number per step. Then row i is the term
// of the member i places before this one, and the rows are added in the ring's
// order. All rows are as long as the longest segment, so that sender and
// receiver agree on sizes.
absl::Status OperationRunner::Trade(const Members& members) {
  const int m = members.size();
  const std::vector<Range> segments = Segments(m);
  const size_t row = std::ranges::max_element(segments, {}, &Range::size)->size;
  std::vector<std::byte> rows(row * m);
  const auto row_at = [&](int i) {
    return std::span(rows).subspan(i * row, row);
  };
  for (int i = 0; i < m; ++i) {
    std::ranges::copy(BytesOf(segments[(members.place + i) % m]),
                      row_at(i).begin());
  }
  const std::span<std::byte> sums = buffer_;
  std::vector<std::byte> out;
  std::vector<std::byte> in;
  for (int distance = 1; distance < m; distance *= 2) {
    out.clear();
    for (int i = 0; i < m; ++i) {
      if ((i & distance) == 0) continue;
      out.insert(out.end(), row_at(i).begin(), row_at(i).end());
    }
    in.resize(out.size());
    const std::vector<Range> chunks =
        ChunksOf({{.offset = 0, .size = out.size()}}, 0, 1);
    GANDEM_RETURN_IF_ERROR(
        Exchange(members.At(members.place + distance), out, chunks,
                 members.At(members.place - distance), in, chunks));
    auto next = in.begin();
    for (int i = 0; i < m; ++i) {
      if ((i & distance) == 0) continue;
      std::copy(next, next + static_cast<ptrdiff_t>(row), row_at(i).begin());
      next += static_cast<ptrdiff_t>(row);
    }
  }
  buffer_ = sums;
  const Range& own = segments[members.place];
  for (int i = m - 1; i > 0; --i) {
    AddElements(tag_.type, row_at(i).first(own.size),
                row_at(i - 1).first(own.size));
  }
  std::ranges::copy(row_at(0).first(own.size), BytesOf(own).begin());
  return absl::OkStatus();
}

// Each step at most doubles the parts of a member, starting at its own.
absl::Status OperationRunner::Collect(const Members& members,
                                      const std::vector<Range>& parts) {
  const int m = members.size();
  const int place = members.place;
  for (int distance = 1; distance < m; distance *= 2) {
    const int count = std::min(distance, m - distance);
    GANDEM_RETURN_IF_ERROR(Exchange(members.At(place - distance), buffer_,
                                    ChunksOf(parts, place, count),
                                    members.At(place + distance), buffer_,
                                    ChunksOf(parts, place + distance, count)));
  }
  return absl::OkStatus();
}

absl::Status OperationRunner::Exchange(int to, std::span<std::byte> out,
                                       const std::vector<Range>& sends,
                                       int from, std::span<std::byte> in,
                                       const std::vector<Range>& receives) {
  size_t sent = 0;
  size_t received = 0;
  while (sent < sends.size() || received < receives.size()) {
    buffer_ = out;
    while (sent < sends.size() &&
           (sent < received + kSendWindow || received == receives.size())) {
      GANDEM_RETURN_IF_ERROR(Send(to, sends[sent++]));
    }
    buffer_ = in;
    if (received == receives.size()) continue;
    GANDEM_RETURN_IF_ERROR(ReceiveInto(from, receives[received++]));
  }
  return absl::OkStatus();
}

std::vector<OperationRunner::Range> OperationRunner::ChunksOf(
    const std::vector<Range>& parts, int first, int count) const {
  const int m = static_cast<int>(parts.size());
  std::vector<Range> chunks;
  for (const auto& [begin, end] :
       {std::pair(first % m, std::min(first % m + count, m)),
        std::pair(0, first % m + count - m)}) {
    if (begin >= end) continue;
    const Range& last = parts[end - 1];
    const Range joined = {
        .offset = parts[begin].offset,
        .size = last.offset + last.size - parts[begin].offset};
    Split(joined, ChunkBytes(joined.size), chunks);
  }
  if (chunks.empty()) chunks.push_back({});
  return chunks;
}

}  // namespace gandem
