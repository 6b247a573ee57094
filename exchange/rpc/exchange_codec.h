// SPDX-License-Identifier: Apache-2.0
//
// Converts frames to gRPC byte buffers, for FrameStream. Sending shares the
// payload's memory; receiving copies it once, because gRPC delivers pieces.
//
// Thread safety: pure functions. Errors: see wire_codec.h.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crc32c.h"
#include "common/rpc/shared_slices.h"
#include "common/status.h"
#include "exchange/exchange_options.h"
#include "exchange/wire_codec.h"

namespace gandem {

inline FrameSender SenderOf(const ExchangeOptions& options) {
  return {.run_epoch = options.run_epoch,
          .incarnation = options.incarnation,
          .rank = options.rank};
}

// Returns the expected crc32c of a HelloRequest or HelloReply. The prefix keeps
// an empty message, which a damaged length leaves, from having the checksum 0.
template <typename Hello>
uint32_t Crc32cOf(Hello hello) {
  hello.clear_crc32c();
  return TextCrc32c("Hello" + hello.SerializeAsString());
}

struct ExchangeCodec {
  using Frame = gandem::Frame;
  static grpc::ByteBuffer Encode(const Frame& frame) {
    grpc::ByteBuffer message =
        JoinSlices(EncodeFrameHead(frame), PayloadOf(frame.body));
    DamageMessage("exchange.encode_frame", message);
    return message;
  }
  static absl::StatusOr<Frame> Decode(const grpc::ByteBuffer& buffer,
                                      int64_t max_bytes) {
    GANDEM_ASSIGN_OR_RETURN(const std::vector<SharedBytes> slices,
                            ShareSlices(buffer));
    return DecodeFrame(slices, max_bytes);
  }
};

}  // namespace gandem
