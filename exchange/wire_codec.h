// SPDX-License-Identifier: Apache-2.0
//
// Frames of proto/exchange.proto as bytes: a TensorHeader behind its prefix
// (common/wire_header.h), and the payload. Reading trusts nothing: sizes,
// enums, shapes, limits and checksums are checked before anything is allocated
// or used.
//
// Owner: values; a decoded payload is a copy of its own, aligned for tensors.
// Thread safety: pure functions.
// Errors: those of common/wire_header.h; INVALID_ARGUMENT names the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "common/shared_bytes.h"
#include "exchange/exchange.h"

namespace gandem {

// Repeats what identifies the frame that it answers; the rest stays as it is
// here.
struct AckFrame {
  ImageUse use = ImageUse::kTrain;
  int64_t round = 0;
  int64_t first_index = 0;
  int64_t count = 0;
  int64_t version = 0;
  int64_t oldest_unfinished_round = 0;  // of images
};
struct FinishedFrame {};
// Begins a stream.
struct OpenFrame {
  int64_t version = 0;  // of critics: the newest that the sender has, -1: none
};

using FrameBody = std::variant<ImageBatch, FeedbackBatch, CriticState, AckFrame,
                               FinishedFrame, OpenFrame>;

struct FrameSender {
  int64_t run_epoch = 0;
  int64_t incarnation = 0;
  int rank = 0;
  bool operator==(const FrameSender&) const = default;
};

struct Frame {
  FrameSender sender = {};
  FrameBody body = {};
};

// No real header comes near this.
inline constexpr size_t kMaxHeaderBytes = 512;
// Of a decoded payload: what vector instructions and LibTorch like.
inline constexpr size_t kPayloadAlignment = 64;

// What follows the head: pixels, gradient or critic; else empty.
SharedBytes PayloadOf(const FrameBody& body);

// The bytes before the payload. Computes the payload's checksum.
std::string EncodeFrameHead(const Frame& frame);

// `pieces` are the bytes of one message in order. `max_bytes` limits them all.
absl::StatusOr<Frame> DecodeFrame(std::span<const SharedBytes> pieces,
                                  int64_t max_bytes);

}  // namespace gandem
