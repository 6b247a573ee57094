// SPDX-License-Identifier: Apache-2.0
//
// Frames as gRPC byte buffers. Sending shares the payload's memory; receiving
// copies it once, because gRPC delivers it in pieces.
//
// Thread safety: pure functions. Errors: those of wire_codec.h.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "exchange/wire_codec.h"

namespace gandem {

grpc::ByteBuffer ToByteBuffer(const Frame& frame);

absl::StatusOr<Frame> FromByteBuffer(const grpc::ByteBuffer& buffer,
                                     int64_t max_bytes);

// For FrameStream.
struct ExchangeCodec {
  using Frame = gandem::Frame;
  static grpc::ByteBuffer Encode(const Frame& frame) {
    return ToByteBuffer(frame);
  }
  static absl::StatusOr<Frame> Decode(const grpc::ByteBuffer& buffer,
                                      int64_t max_bytes) {
    return FromByteBuffer(buffer, max_bytes);
  }
};

}  // namespace gandem
