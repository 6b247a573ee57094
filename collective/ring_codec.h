// SPDX-License-Identifier: Apache-2.0
//
// Converts messages of proto/collective.proto to bytes. Decoding checks sizes,
// enums and limits before any use. The reader of a payload checks its checksum.
//
// Owner: values; a decoded payload shares the message's memory.
// Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names the field of a malformed message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/chunk.h"
#include "collective/shared_slots.h"
#include "common/shared_bytes.h"

namespace gandem {

enum class RingFrameKind { kOpen, kAccept, kChunk, kAbort, kGoodbye };

struct RingFrame {
  RingFrameKind kind = RingFrameKind::kGoodbye;
  // Identity of the sender.
  int64_t membership_epoch = 0;
  int64_t incarnation = 0;
  int rank = 0;
  // OPEN
  int to = 0;
  int fleet_size = 0;
  // OPEN, ACCEPT
  std::optional<SharedSlotsName> shared_memory = {};
  // CHUNK
  int64_t number = 0;
  Chunk chunk = {};
  // Slot and size of a payload in shared memory instead of the message.
  std::optional<int> shared_slot = {};
  int64_t shared_bytes = 0;
  // ABORT
  int origin = 0;
  absl::Status reason = {};
};

// Chosen above the size of any valid header.
inline constexpr size_t kMaxRingHeaderBytes = 4096;

// Returns the bytes before the payload. Truncates long reasons.
std::string EncodeRingHead(const RingFrame& frame);

// Decodes one message of at most `max_bytes`; `pieces` are its bytes in order.
absl::StatusOr<RingFrame> DecodeRingFrame(std::span<const SharedBytes> pieces,
                                          int64_t max_bytes);

}  // namespace gandem
