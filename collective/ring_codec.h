// SPDX-License-Identifier: Apache-2.0
//
// Messages of proto/collective.proto as bytes. Reading trusts nothing: sizes,
// enums and limits are checked before anything is used. The checksum of a
// chunk is checked by whoever reads its payload.
//
// Owner: values; a decoded payload shares the memory of the message.
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
  // Shared-memory slot of the payload, if the payload does not follow the
  // header, and the payload's size.
  std::optional<int> shared_slot = {};
  int64_t shared_bytes = 0;
  // ABORT
  int origin = 0;
  absl::Status reason = {};
};

// No real header comes near this.
inline constexpr size_t kMaxRingHeaderBytes = 4096;

// The bytes before the payload. Long reasons are cut.
std::string EncodeRingHead(const RingFrame& frame);

// `pieces` are the bytes of one message in order. `max_bytes` limits them all.
absl::StatusOr<RingFrame> DecodeRingFrame(std::span<const SharedBytes> pieces,
                                          int64_t max_bytes);

}  // namespace gandem
