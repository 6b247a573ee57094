// SPDX-License-Identifier: Apache-2.0
//
// Encodes frames of proto/exchange.proto: a TensorHeader with its prefix
// (common/wire_header.h), then the payload. Decoding checks sizes, enums,
// shapes, limits and checksums before it allocates memory.
//
// Owner: values; a decoded payload is an aligned copy.
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

// Acknowledges a frame, identified by its fields; others keep defaults.
struct AckFrame {
  ImageUse use = ImageUse::kTrain;
  int64_t round = 0;
  int64_t first_index = 0;
  int64_t count = 0;
  int64_t version = 0;
};
struct FinishedFrame {};
// The first frame of a stream.
struct OpenFrame {
  int64_t version = 0;  // critics: newest of the sender, -1: none
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

// Chosen above the size of any valid header.
inline constexpr size_t kMaxHeaderBytes = 512;
// Alignment of a decoded payload, for vector instructions and LibTorch.
inline constexpr size_t kPayloadAlignment = 64;

// Returns pixels, gradient or critic; empty for other frames.
SharedBytes PayloadOf(const FrameBody& body);

// Returns the bytes before the payload, including its checksum.
std::string EncodeFrameHead(const Frame& frame);

// Decodes one message of at most `max_bytes`; `pieces` are its bytes in order.
absl::StatusOr<Frame> DecodeFrame(std::span<const SharedBytes> pieces,
                                  int64_t max_bytes);

}  // namespace gandem
