// SPDX-License-Identifier: Apache-2.0
#include "collective/operation_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collective/element_sum.h"
#include "common/crc32c.h"
#include "common/process/failpoint.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr size_t kChunksPerRange = 4;
constexpr size_t kMinChunkBytes = size_t{64} << 10;
// Steps of copying, summing and checking fit the L1 cache.
constexpr size_t kStepBytes = size_t{16} << 10;

// Calls `visit` for the payload in steps and verifies the checksum.
template <typename Visit>
absl::Status ReadPayload(const Chunk& chunk, int from, const Visit& visit) {
  uint32_t crc = 0;
  for (const SharedBytes& piece : chunk.payload) {
    for (size_t at = 0; at < piece.size(); at += kStepBytes) {
      const std::span<const std::byte> step =
          piece.span().subspan(at, std::min(kStepBytes, piece.size() - at));
      crc = Crc32c(step, crc);
      visit(step);
    }
  }
  if (crc == chunk.crc32c) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "checksum of a chunk of rank ", from, " in ", ToString(chunk.tag),
      ": the network or a memory changed it"));
}

}  // namespace

OperationRunner::OperationRunner(const RunnerOptions& options,
                                 Transport* transport)
    : options_(options),
      transport_(transport),
      groups_(GroupsOf(options, transport->rank(), transport->size())) {}

OperationRunner::Groups OperationRunner::GroupsOf(const RunnerOptions& options,
                                                  int rank, int size) {
  std::vector<std::string> hosts = options.hosts;
  hosts.resize(size);  // one host if none were given
  Groups groups;
  groups.all.place = rank;
  groups.leaders.place = -1;
  for (int other = 0; other < size; ++other) {
    groups.all.ranks.push_back(other);
    if (hosts[other] == hosts[rank]) {
      if (other == rank) groups.local.place = groups.local.size();
      groups.local.ranks.push_back(other);
    }
    const auto it = hosts.begin() + other;
    if (std::find(hosts.begin(), it, *it) == it) {  // the first of its host
      if (other == rank) groups.leaders.place = groups.leaders.size();
      groups.leaders.ranks.push_back(other);
    }
  }
  return groups;
}

std::vector<bool> OperationRunner::LinksOf(const RunnerOptions& options,
                                           int rank, int size) {
  const Groups groups = GroupsOf(options, rank, size);
  std::vector<bool> links(size, false);
  // Rings and chains use neighbors at distance 1, Trade and Collect neighbors
  // at powers of 2. For up to kFewRanks ranks, these are all others.
  for (const Members* members : {&groups.all, &groups.local, &groups.leaders}) {
    if (members->place < 0) continue;
    for (int distance = 1; distance < members->size(); distance *= 2) {
      links[members->At(members->place + distance)] = true;
      links[members->At(members->place - distance)] = true;
    }
  }
  if (groups.has_hierarchy()) {  // GatherSegments
    for (const int other : groups.local.ranks) {
      if (groups.local.place == 0 || other == groups.local.At(0)) {
        links[other] = true;
      }
    }
  }
  links[rank] = false;
  return links;
}

absl::Status OperationRunner::Run(int64_t number, const Operation& operation) {
  tag_ = {.number = number,
          .kind = operation.kind,
          .type = operation.type,
          .root = operation.root,
          .bytes = static_cast<int64_t>(operation.buffer.size())};
  buffer_ = operation.buffer;
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return AllReduce();
    case OperationKind::kBroadcast:
      return Chain(all_, operation.root);
    case OperationKind::kAllGather:
      return AllGather();
    case OperationKind::kBarrier:
      return ExchangeBlocks();
  }
  return absl::InternalError("unknown operation");
}

// Chooses by sizes and hosts only, which all ranks know, so all ranks choose
// the same algorithm. Its order of summation is part of the interface.
absl::Status OperationRunner::AllReduce() {
  const int64_t others = all_.size() - 1;
  if (tag_.bytes * others <= options_.small_bytes) return SmallAllReduce();
  if (groups_.has_hierarchy()) return HierarchicalAllReduce();
  return RingAllReduce(all_);
}

absl::Status OperationRunner::HierarchicalAllReduce() {
  GANDEM_RETURN_IF_ERROR(ReduceScatter(groups_.local));
  GANDEM_RETURN_IF_ERROR(GatherSegments(groups_.local));
  if (groups_.leaders.place >= 0) {
    GANDEM_RETURN_IF_ERROR(RingAllReduce(groups_.leaders));
  }
  return Chain(groups_.local, /*root=*/0);
}

// Blocks go around a ring unless they are small.
absl::Status OperationRunner::AllGather() {
  const auto block = static_cast<int64_t>(buffer_.size() / all_.size());
  if (block * (all_.size() - 1) <= options_.small_bytes ||
      (all_.size() > kFewRanks && block <= options_.short_bytes)) {
    return ExchangeBlocks();
  }
  return RunRing(all_, {.segments = Blocks(),
                        .first_sent = all_.place,
                        .steps = all_.size() - 1,
                        .adding_steps = 0});
}

// Runs the first half of a ring: each member gets the sum of one segment.
absl::Status OperationRunner::ReduceScatter(const Members& members) {
  if (HasShortSegments(members)) return Trade(members);
  return RunRing(members, {.segments = Segments(members.size()),
                           .first_sent = members.place - 1,
                           .steps = members.size() - 1,
                           .adding_steps = members.size() - 1});
}

absl::Status OperationRunner::RingAllReduce(const Members& members) {
  if (HasShortSegments(members)) {
    GANDEM_RETURN_IF_ERROR(Trade(members));
    GANDEM_FAILPOINT("collective.half_way");
    return Collect(members, Segments(members.size()));
  }
  return RunRing(members, {.segments = Segments(members.size()),
                           .first_sent = members.place - 1,
                           .steps = 2 * (members.size() - 1),
                           .adding_steps = members.size() - 1});
}

// In step s a member sends segment first_sent - s and receives the segment
// before it, which it sends in the next step. So it sends the first segment and
// then, chunk by chunk, everything received except the last segment.
absl::Status OperationRunner::RunRing(const Members& members,
                                      const RingPlan& plan) {
  const int m = members.size();
  std::vector<Range> sends;
  std::vector<Range> receives;
  size_t num_adding = 0;  // of the receives
  size_t num_first = 0;   // sends that wait for no receive
  const size_t chunk_bytes = ChunkBytes(
      std::ranges::max_element(plan.segments, {}, &Range::size)->size);
  for (int step = 0; step < plan.steps; ++step) {
    const int segment = plan.first_sent - step + 2 * m;
    Split(plan.segments[segment % m], chunk_bytes, sends);
    Split(plan.segments[(segment - 1) % m], chunk_bytes, receives);
    if (step == 0) num_first = sends.size();
    if (step < plan.adding_steps) num_adding = receives.size();
  }
  const int right = members.At(members.place + 1);
  const int left = members.At(members.place - 1);
  size_t sent = 0;
  size_t received = 0;
  while (sent < sends.size() || received < receives.size()) {
    while (sent < sends.size() && sent < received + kSendWindow &&
           sent < received + num_first) {
      GANDEM_RETURN_IF_ERROR(Send(right, sends[sent++]));
    }
    if (received == receives.size()) continue;
    const Range& range = receives[received];
    GANDEM_RETURN_IF_ERROR(received < num_adding ? ReceiveAndAdd(left, range)
                                                 : ReceiveInto(left, range));
    if (++received == num_adding) GANDEM_FAILPOINT("collective.half_way");
  }
  return absl::OkStatus();
}

// Collects the sums of a ReduceScatter in the first member.
absl::Status OperationRunner::GatherSegments(const Members& members) {
  const std::vector<Range> segments = Segments(members.size());
  for (int place = 1; place < members.size(); ++place) {
    if (members.place != 0 && members.place != place) continue;
    std::vector<Range> chunks;
    Split(segments[place], ChunkBytes(segments[place].size), chunks);
    for (const Range& chunk : chunks) {
      GANDEM_RETURN_IF_ERROR(members.place == 0
                                 ? ReceiveInto(members.At(place), chunk)
                                 : Send(members.At(0), chunk));
    }
  }
  return absl::OkStatus();
}

// The root's right neighbor passes the chunks on, so all links are busy.
absl::Status OperationRunner::Chain(const Members& members, int root) {
  const int m = members.size();
  const int distance = (members.place - root + m) % m;
  std::vector<Range> chunks;
  Split({.offset = 0, .size = buffer_.size()}, ChunkBytes(buffer_.size()),
        chunks);
  // Even an empty chunk is sent, to notice a rank with another operation.
  if (chunks.empty()) chunks.push_back({});
  for (const Range& chunk : chunks) {
    if (distance > 0) {
      GANDEM_RETURN_IF_ERROR(ReceiveInto(members.At(members.place - 1), chunk));
    }
    if (distance < m - 1) {
      GANDEM_RETURN_IF_ERROR(Send(members.At(members.place + 1), chunk));
    }
  }
  return absl::OkStatus();
}

std::vector<OperationRunner::Range> OperationRunner::Segments(int count) const {
  const size_t element = BytesPerElement(tag_.type);
  const size_t elements = buffer_.size() / element;
  std::vector<Range> segments;
  for (int i = 0; i < count; ++i) {
    const size_t begin = elements * i / count;
    const size_t end = elements * (i + 1) / count;
    segments.push_back(
        {.offset = begin * element, .size = (end - begin) * element});
  }
  return segments;
}

size_t OperationRunner::ChunkBytes(size_t range_bytes) const {
  const size_t most = static_cast<size_t>(options_.chunk_bytes);
  const size_t wanted = range_bytes / kChunksPerRange / 8 * 8;
  return std::clamp(wanted, std::min(kMinChunkBytes, most), most);
}

void OperationRunner::Split(const Range& range, size_t chunk_bytes,
                            std::vector<Range>& chunks) {
  for (size_t at = 0; at < range.size; at += chunk_bytes) {
    chunks.push_back({.offset = range.offset + at,
                      .size = std::min(chunk_bytes, range.size - at)});
  }
}

// Copies the bytes, so that the caller gets its buffer back when the operation
// ends, even if chunks are still queued.
absl::Status OperationRunner::Send(int to, const Range& range) {
  const std::span<const std::byte> bytes = BytesOf(range);
  Chunk chunk = {.tag = tag_, .offset = static_cast<int64_t>(range.offset)};
  if (!bytes.empty()) {
    const PayloadRoom room = transport_->RoomFor(to, bytes.size());
    for (size_t at = 0; at < bytes.size(); at += kStepBytes) {
      const std::span<const std::byte> step =
          bytes.subspan(at, std::min(kStepBytes, bytes.size() - at));
      std::memcpy(room.bytes.data() + at, step.data(), step.size());
      chunk.crc32c = Crc32c(step, chunk.crc32c);
    }
    const auto damaged =
        FailpointDamages("collective.write_payload", bytes.size());
    if (damaged.has_value()) {
      std::byte& byte = room.bytes[*damaged];
      byte = std::byte{
          WithWrongBit(std::to_integer<unsigned char>(byte), *damaged)};
    }
    chunk.payload.push_back(room.Written());
  }
  GANDEM_RETURN_IF_ERROR(transport_->Send(to, std::move(chunk)));
  sent_bytes_ += static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

// Receives a rank's next chunk and checks it. Another operation is a bug of the
// caller; another place is damage by the transport.
absl::StatusOr<Chunk> OperationRunner::Receive(int from, const Range& range) {
  GANDEM_ASSIGN_OR_RETURN(Chunk chunk, transport_->Receive(from));
  if (chunk.tag != tag_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", from, " is at ", ToString(chunk.tag), ", rank ",
        transport_->rank(), " at ", ToString(tag_),
        ": all ranks have to submit the same operations in the same order"));
  }
  if (std::cmp_not_equal(chunk.offset, range.offset) ||
      std::cmp_not_equal(chunk.size(), range.size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", from, " sent bytes [", chunk.offset, ", ",
                     chunk.offset + chunk.size(), ") of ", ToString(tag_),
                     ", where [", range.offset, ", ", range.offset + range.size,
                     ") were due: a chunk was cut short, lost or sent twice"));
  }
  return chunk;
}

absl::Status OperationRunner::ReceiveInto(int from, const Range& range) {
  GANDEM_ASSIGN_OR_RETURN(const Chunk chunk, Receive(from, range));
  std::byte* at = BytesOf(range).data();
  return Judged(ReadPayload(chunk, from, [&](std::span<const std::byte> step) {
    std::memcpy(at, step.data(), step.size());
    at += step.size();
  }));
}

absl::Status OperationRunner::ReceiveAndAdd(int from, const Range& range) {
  GANDEM_ASSIGN_OR_RETURN(Chunk chunk, Receive(from, range));
  // gRPC may have split the payload within an element.
  if (chunk.payload.size() > 1) {
    joined_.clear();
    for (const SharedBytes& piece : chunk.payload) {
      joined_.insert(joined_.end(), piece.span().begin(), piece.span().end());
    }
    chunk.payload = {SharedBytes(nullptr, joined_)};
  }
  std::span<std::byte> sums = BytesOf(range);
  return Judged(ReadPayload(chunk, from, [&](std::span<const std::byte> step) {
    AddElements(tag_.type, step, sums.first(step.size()));
    sums = sums.subspan(step.size());
  }));
}

absl::Status OperationRunner::Judged(absl::Status read) const {
  if (absl::IsDataLoss(read) && options_.on_damage) options_.on_damage();
  return read;
}

}  // namespace gandem
