// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/byte_buffer.h"

#include <cstddef>
#include <span>
#include <vector>

#include "common/rpc/shared_slices.h"
#include "common/status.h"

namespace gandem {

grpc::ByteBuffer ToByteBuffer(const Frame& frame) {
  return JoinSlices(EncodeFrameHead(frame), frame.payload);
}

absl::StatusOr<Frame> FromByteBuffer(const grpc::ByteBuffer& buffer,
                                     int64_t max_bytes) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<SharedBytes> slices,
                          ShareSlices(buffer));
  std::vector<std::span<const std::byte>> pieces;
  pieces.reserve(slices.size());
  for (const SharedBytes& slice : slices) pieces.push_back(slice.span());
  return DecodeFrame(pieces, max_bytes);
}

}  // namespace gandem
