// SPDX-License-Identifier: Apache-2.0
//
// The algorithms behind the operations, over any Transport.
//
// All-reduce of m members, after Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009: the buffer is m
// segments, segment j being elements [n*j/m, n*(j+1)/m). Its sum starts with
// member j+1's and goes around the ring to member j, who adds last:
//   ((x_{j+1} + x_{j+2}) + ...) + x_j,  indices modulo m,
// then around once more. Segments travel in chunks, so that all links and all
// processors work at once. The members are all ranks, or, where several hosts
// have several ranks each: first those of a host, then the hosts' first ranks,
// with the sums of their hosts; and these hand the result on within the host.
//
// Every rank gets small buffers of all others and adds them in ascending rank
// order: ((x_0 + x_1) + ...). Small: what a rank sends is at most `small_bytes`
// in all.
//
// So the bits depend on the number of ranks, the hosts, the size of the buffer
// and small_bytes, and on neither time nor chunks.
//
// How the terms travel changes no bit. Messages cost more than bytes where
// segments are short, so more than four members use the algorithms of Bruck et
// al., "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", 1997: with ceil(log2(m)) messages a member brings
// every other one the term that it needs ("index", Trade), with as many all
// get the results ("concatenation", Collect). A ring has 2 (m - 1).
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
  // Largest size of a short segment or block; no sum depends on it.
  int64_t short_bytes = kShortSegmentBytes;
  // Hears of each payload that was damaged; may be empty.
  std::function<void()> on_damage = {};
};

class OperationRunner {
 public:
  OperationRunner(const RunnerOptions& options, Transport* transport);

  // Tells, by rank, whether `rank` of `size` exchanges messages with that rank.
  static std::vector<bool> LinksOf(const RunnerOptions& options, int rank,
                                   int size);

  absl::Status Run(int64_t number, const Operation& operation);

  // Bytes of chunks that the transport has taken.
  int64_t sent_bytes() const { return sent_bytes_; }

 private:
  // A part of the buffer.
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
    Members local = {};    // of this rank's host
    Members leaders = {};  // the hosts' first ranks; place -1: not one of them
    bool has_hierarchy() const {
      return leaders.size() > 1 && leaders.size() < all.size();
    }
  };
  struct RingPlan {
    std::vector<Range> segments;
    int first_sent = 0;  // segment that this member sends first
    int steps = 0;
    int adding_steps = 0;  // of them; the others replace
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
  // Passes the buffer from the member at `root` (a place) along the other
  // members.
  absl::Status Chain(const Members& members, int root);
  // The buffer is a block of each rank. Block r reaches all; mine is in place.
  absl::Status ExchangeBlocks();

  // Whether messages cost more than the segments of the buffer.
  bool HasShortSegments(const Members& members) const;
  // Does the same as ReduceScatter, for short segments.
  absl::Status Trade(const Members& members);
  // Every member has its part of the buffer; all get all of them.
  absl::Status Collect(const Members& members, const std::vector<Range>& parts);
  // Sends chunks of `out` while those of `in` arrive.
  absl::Status Exchange(int to, std::span<std::byte> out,
                        const std::vector<Range>& sends, int from,
                        std::span<std::byte> in,
                        const std::vector<Range>& receives);
  // The chunks of `count` parts from `first` on, modulo their number; at least
  // one, that may be empty.
  std::vector<Range> ChunksOf(const std::vector<Range>& parts, int first,
                              int count) const;

  std::vector<Range> Blocks() const;
  std::vector<Range> Segments(int count) const;
  // Chunk size for a range of `range_bytes`: small enough for several chunks to
  // be on their way, and large enough for the bytes to take longer than the
  // messages.
  size_t ChunkBytes(size_t range_bytes) const;
  // Appends the chunks of `range`.
  static void Split(const Range& range, size_t chunk_bytes,
                    std::vector<Range>& chunks);

  std::span<std::byte> BytesOf(const Range& range) const {
    return buffer_.subspan(range.offset, range.size);
  }
  absl::Status Send(int to, const Range& range);
  absl::StatusOr<Chunk> Receive(int from, const Range& range);
  absl::Status ReceiveInto(int from, const Range& range);
  // Tells of a payload that was damaged.
  absl::Status Judged(absl::Status read) const;
  absl::Status ReceiveAndAdd(int from, const Range& range);

  const RunnerOptions options_;  // these never change after construction
  Transport* const transport_;
  const Groups groups_;
  const Members& all_ = groups_.all;
  // The running operation, and what travels: its buffer, or blocks to sum up.
  OperationTag tag_;
  std::span<std::byte> buffer_;
  std::vector<std::byte> joined_;  // kept, so that its memory is reused

  int64_t sent_bytes_ = 0;
};

}  // namespace gandem
