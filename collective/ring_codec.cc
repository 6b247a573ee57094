// SPDX-License-Identifier: Apache-2.0
#include "collective/ring_codec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/printable.h"
#include "common/status.h"
#include "common/wire_header.h"
#include "proto/collective.pb.h"

namespace gandem {
namespace {

constexpr char kRing[] = "malformed message of the ring";
constexpr size_t kMaxReasonBytes = 2000;

constexpr std::pair<RingFrameKind, RingKind> kKinds[] = {
    {RingFrameKind::kOpen, RING_OPEN},
    {RingFrameKind::kAccept, RING_ACCEPT},
    {RingFrameKind::kChunk, RING_CHUNK},
    {RingFrameKind::kAbort, RING_ABORT},
    {RingFrameKind::kGoodbye, RING_GOODBYE}};
constexpr std::pair<OperationKind, RingOperation> kOperations[] = {
    {OperationKind::kAllReduce, RING_ALL_REDUCE},
    {OperationKind::kBroadcast, RING_BROADCAST},
    {OperationKind::kAllGather, RING_ALL_GATHER},
    {OperationKind::kBarrier, RING_BARRIER}};
constexpr std::pair<ElementType, RingElement> kElements[] = {
    {ElementType::kFloat32, RING_FLOAT32},
    {ElementType::kFloat64, RING_FLOAT64},
    {ElementType::kBfloat16, RING_BFLOAT16},
    {ElementType::kFloat16, RING_FLOAT16}};

absl::Status Malformed(absl::string_view what) {
  return MalformedMessage(kRing, what);
}

// Negative numbers are refused, so callers may convert and compare freely.
absl::Status CheckNumbers(const RingHeader& header) {
  const std::pair<absl::string_view, int64_t> numbers[] = {
      {"membership_epoch", header.membership_epoch()},
      {"incarnation", header.incarnation()},
      {"rank", header.rank()},
      {"to", header.to()},
      {"fleet_size", header.fleet_size()},
      {"number", header.number()},
      {"operation_number", header.operation_number()},
      {"root", header.root()},
      {"operation_bytes", header.operation_bytes()},
      {"offset", header.offset()},
      {"payload_bytes", header.payload_bytes()},
      {"shared_slot", header.shared_slot()},
      {"origin", header.origin()}};
  return CheckNotNegative(kRing, numbers);
}

absl::StatusOr<Chunk> ReadChunk(const RingHeader& header,
                                std::vector<SharedBytes> payload) {
  const auto operation = FromWire(kOperations, header.operation());
  if (!operation.has_value()) return Malformed("unknown operation");
  const auto element = FromWire(kElements, header.element());
  if (!element.has_value()) return Malformed("unknown element");
  return Chunk{.tag = {.number = header.operation_number(),
                       .kind = *operation,
                       .type = *element,
                       .root = header.root(),
                       .bytes = header.operation_bytes()},
               .offset = header.offset(),
               .crc32c = header.crc32c(),
               .payload = std::move(payload)};
}

// A received code may be any number.
bool IsFailure(int code) {
  return code > static_cast<int>(absl::StatusCode::kOk) &&
         code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
}

SharedSlotsName ReadName(const RingSharedMemory& memory) {
  return {.process = memory.process(),
          .descriptor = memory.fd(),
          .token = memory.token(),
          .slot_bytes = memory.slot_bytes(),
          .num_slots = memory.num_slots()};
}

void WriteName(const SharedSlotsName& name, RingSharedMemory& memory) {
  memory.set_process(name.process);
  memory.set_fd(name.descriptor);
  memory.set_token(name.token);
  memory.set_slot_bytes(name.slot_bytes);
  memory.set_num_slots(name.num_slots);
}

void WriteChunk(const RingFrame& frame, RingHeader& header) {
  const Chunk& chunk = frame.chunk;
  header.set_operation_number(chunk.tag.number);
  header.set_operation(ToWire(kOperations, chunk.tag.kind));
  header.set_element(ToWire(kElements, chunk.tag.type));
  header.set_root(chunk.tag.root);
  header.set_operation_bytes(chunk.tag.bytes);
  header.set_offset(chunk.offset);
  header.set_payload_bytes(chunk.size());
  header.set_crc32c(chunk.crc32c);
  if (frame.shared_slot.has_value()) {
    header.set_shared_slot(*frame.shared_slot + 1);
    header.set_payload_bytes(frame.shared_bytes);
  }
}

}  // namespace

std::string EncodeRingHead(const RingFrame& frame) {
  RingHeader header;
  header.set_kind(ToWire(kKinds, frame.kind));
  header.set_membership_epoch(frame.membership_epoch);
  header.set_incarnation(frame.incarnation);
  header.set_rank(frame.rank);
  header.set_to(frame.to);
  header.set_fleet_size(frame.fleet_size);
  header.set_number(frame.number);
  if (frame.kind == RingFrameKind::kChunk) WriteChunk(frame, header);
  if (frame.shared_memory.has_value()) {
    WriteName(*frame.shared_memory, *header.mutable_shared_memory());
  }
  if (frame.kind == RingFrameKind::kAbort) {
    header.set_origin(frame.origin);
    header.set_code(static_cast<int>(frame.reason.code()));
    header.set_message(std::string(frame.reason.message().substr(
        0, std::min(kMaxReasonBytes, frame.reason.message().size()))));
  }
  return EncodeWireHeader(header, kMaxRingHeaderBytes);
}

absl::StatusOr<RingFrame> DecodeRingFrame(std::span<const SharedBytes> pieces,
                                          int64_t max_bytes) {
  if (TotalBytes(pieces) > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("message of ", TotalBytes(pieces),
                     " bytes is larger than the ", max_bytes, " of a chunk"));
  }
  std::vector<SharedBytes> left(pieces.begin(), pieces.end());
  RingHeader header;
  GANDEM_RETURN_IF_ERROR(
      TakeWireHeader(kRing, kMaxRingHeaderBytes, left, header));
  const bool is_shared = header.shared_slot() != 0;
  if ((is_shared ? 0 : header.payload_bytes()) != TotalBytes(left)) {
    return Malformed(absl::StrCat("payload_bytes ", header.payload_bytes(),
                                  is_shared ? " in shared memory" : "",
                                  ", but ", TotalBytes(left), " bytes follow"));
  }
  const auto kind = FromWire(kKinds, header.kind());
  if (!kind.has_value()) {
    return Malformed(absl::StrCat("unknown kind ", header.kind()));
  }
  GANDEM_RETURN_IF_ERROR(CheckNumbers(header));
  RingFrame frame = {.kind = *kind,
                     .membership_epoch = header.membership_epoch(),
                     .incarnation = header.incarnation(),
                     .rank = header.rank(),
                     .to = header.to(),
                     .fleet_size = header.fleet_size(),
                     .number = header.number(),
                     .origin = header.origin()};
  if (header.has_shared_memory()) {
    frame.shared_memory = ReadName(header.shared_memory());
  }
  if (*kind == RingFrameKind::kChunk) {
    GANDEM_ASSIGN_OR_RETURN(frame.chunk, ReadChunk(header, std::move(left)));
    if (is_shared) {
      frame.shared_slot = header.shared_slot() - 1;
      frame.shared_bytes = header.payload_bytes();
    }
  } else if (header.payload_bytes() != 0) {
    return Malformed("payload in a message that has none");
  }
  if (*kind == RingFrameKind::kAbort) {
    if (!IsFailure(header.code())) {
      return Malformed(absl::StrCat("code ", header.code()));
    }
    frame.reason = absl::Status(static_cast<absl::StatusCode>(header.code()),
                                Printable(header.message(), kMaxReasonBytes));
  }
  return frame;
}

}  // namespace gandem
