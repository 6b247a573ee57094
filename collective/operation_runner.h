// SPDX-License-Identifier: Apache-2.0
//
// Algorithms of the operations, over any Transport.
//
// All-reduce of m members, after Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009: the buffer has m
// segments; segment j is elements [n*j/m, n*(j+1)/m). Its sum starts at member
// j+1 and goes around the ring to member j, who adds last:
//   ((x_{j+1} + x_{j+2}) + ...) + x_j,  indices modulo m,
// then around once more. Segments travel in chunks, so that all links and
// processors are busy. The members are all ranks. If several hosts have several
// ranks each, they are first the ranks of a host, then the first ranks of the
// hosts, which send the result to their hosts' other ranks.
//
// Small buffers (a rank sends at most `small_bytes` in total) go to all ranks,
// which add them in ascending rank order: ((x_0 + x_1) + ...).
//
// So the bits depend only on ranks, hosts, buffer size and small_bytes.
//
// The transfer of the terms changes no bits. Messages with short segments cost
// more than their bytes, so more than four members use the algorithms of Bruck
// et al., "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", 1997: with ceil(log2(m)) messages a member sends
// every other one its term ("index", Trade), and with as many all get the
// results ("concatenation", Collect). A ring has 2 (m - 1) messages.
//
// Owner: the communication thread. Thread safety: one thread.
// Errors: those of collective.h; the buffer's contents are then unspecified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/chunk.h"
#include "collective/collective.h"
#include "collective/transport.h"
#include "common/process/ring_limits.h"

namespace gandem {

struct RunnerOptions {
  std::vector<std::string> hosts = {};    // by rank; empty: one host
  int64_t chunk_bytes = kRingChunkBytes;  // at most; a multiple of 8
  int64_t small_bytes = kSmallSumBytes;
  // Largest size of a short segment or block; does not affect sums.
  int64_t short_bytes = kShortSegmentBytes;
  // Called for each damaged payload; may be empty.
  std::function<void()> on_damage = {};
};

class OperationRunner {
 public:
  OperationRunner(const RunnerOptions& options, Transport* transport);

  // Returns, by rank, whether `rank` of `size` exchanges messages with it.
  static std::vector<bool> LinksOf(const RunnerOptions& options, int rank,
                                   int size);

  absl::Status Run(int64_t number, const Operation& operation);

  // Returns the bytes of chunks taken by the transport.
  int64_t sent_bytes() const { return sent_bytes_; }

 private:
  struct Range {
    size_t offset = 0;
    size_t size = 0;
  };
  // Ranks in the order of a ring or chain, and this rank's place.
  struct Members {
    std::vector<int> ranks = {};
    int place = 0;
    int size() const { return static_cast<int>(ranks.size()); }
    int At(int place) const { return ranks[(place + size()) % size()]; }
  };
  struct Groups {
    Members all = {};
    Members local = {};    // on this rank's host
    Members leaders = {};  // first ranks of the hosts; place -1: not a member
    bool has_hierarchy() const {
      return leaders.size() > 1 && leaders.size() < all.size();
    }
  };
  struct RingPlan {
    std::vector<Range> segments;
    int first_sent = 0;  // segment that this member sends first
    int steps = 0;
    int adding_steps = 0;  // the other steps replace instead of adding
  };

  static Groups GroupsOf(const RunnerOptions& options, int rank, int size);

  absl::Status AllReduce();
  absl::Status HierarchicalAllReduce();
  absl::Status SmallAllReduce();
  absl::Status AllGather();

  absl::Status ReduceScatter(const Members& members);
  absl::Status RingAllReduce(const Members& members);
  absl::Status RunRing(const Members& members, const RingPlan& plan);
  absl::Status GatherSegments(const Members& members);
  // Passes the buffer from the member at `root` (a place) along the others.
  absl::Status Chain(const Members& members, int root);
  // Sends this rank's block of the buffer to all ranks.
  absl::Status ExchangeBlocks();

  // Returns whether messages cost more than the segments of the buffer.
  bool HasShortSegments(const Members& members) const;
  // ReduceScatter for short segments.
  absl::Status Trade(const Members& members);
  // Distributes each member's part of the buffer to all members.
  absl::Status Collect(const Members& members, const std::vector<Range>& parts);
  // Sends chunks of `out` while chunks of `in` arrive.
  absl::Status Exchange(int to, std::span<std::byte> out,
                        const std::vector<Range>& sends, int from,
                        std::span<std::byte> in,
                        const std::vector<Range>& receives);
  // Returns the chunks of `count` parts from `first` on; at least one.
  std::vector<Range> ChunksOf(const std::vector<Range>& parts, int first,
                              int count) const;

  std::vector<Range> Blocks() const;
  std::vector<Range> Segments(int count) const;
  // Returns the chunk size for a range: small enough for several chunks in
  // transit, large enough that bytes take longer than messages.
  size_t ChunkBytes(size_t range_bytes) const;
  static void Split(const Range& range, size_t chunk_bytes,
                    std::vector<Range>& chunks);

  std::span<std::byte> BytesOf(const Range& range) const {
    return buffer_.subspan(range.offset, range.size);
  }
  absl::Status Send(int to, const Range& range);
  absl::StatusOr<Chunk> Receive(int from, const Range& range);
  absl::Status ReceiveInto(int from, const Range& range);
  // Reports a damaged payload.
  absl::Status Judged(absl::Status read) const;
  absl::Status ReceiveAndAdd(int from, const Range& range);

  const RunnerOptions options_;  // immutable, like the next two members
  Transport* const transport_;
  const Groups groups_;
  const Members& all_ = groups_.all;
  // The running operation and its data: its buffer, or blocks to sum.
  OperationTag tag_;
  std::span<std::byte> buffer_;
  std::vector<std::byte> joined_;  // reused memory

  int64_t sent_bytes_ = 0;
};

}  // namespace gandem
