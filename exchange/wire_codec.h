// SPDX-License-Identifier: Apache-2.0
//
// Frames of proto/exchange.proto as bytes: u32 little-endian header size,
// TensorHeader, payload. Reading trusts nothing: sizes, enums, shapes, limits
// and the checksum are checked before anything is allocated or used.
//
// Owner: values; a decoded payload is a copy of its own, aligned for tensors.
// Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names the field of a malformed frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/shared_bytes.h"
#include "exchange/exchange.h"

namespace gandem {

enum class FrameKind { kImages, kFeedback, kCritic, kAck, kFinished, kOpen };

struct Frame {
  FrameKind kind = FrameKind::kAck;
  // Who sent it.
  int64_t run_epoch = 0;
  int64_t incarnation = 0;
  int rank = 0;
  // What it is about; an ACK repeats these of the frame that it answers.
  ImageUse use = ImageUse::kTrain;  // images and their ACK
  int64_t round = 0;
  int64_t first_index = 0;
  int64_t count = 0;
  int64_t version = 0;
  double loss = 0;                      // feedback
  TensorFormat format = {};             // images and feedback
  int64_t oldest_unfinished_round = 0;  // ACK of images
  SharedBytes payload = {};
};

// No real header comes near this.
inline constexpr size_t kMaxHeaderBytes = 512;
// Of a decoded payload: what vector instructions and LibTorch like.
inline constexpr size_t kPayloadAlignment = 64;

// The bytes before the payload. Computes the payload's checksum.
std::string EncodeFrameHead(const Frame& frame);

// `pieces` are the bytes of one message in order. `max_bytes` limits them all.
absl::StatusOr<Frame> DecodeFrame(
    std::span<const std::span<const std::byte>> pieces, int64_t max_bytes);

// Batches share the payload; what is not in the batch stays at its default.
Frame ToFrame(const ImageBatch& batch);
Frame ToFrame(const FeedbackBatch& batch);
Frame ToFrame(const CriticState& critic);
ImageBatch ToImageBatch(const Frame& frame);
FeedbackBatch ToFeedbackBatch(const Frame& frame);
CriticState ToCriticState(const Frame& frame);

}  // namespace gandem
