// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/byte_buffer.h"

#include <vector>

#include "common/rpc/shared_slices.h"
#include "common/status.h"

namespace gandem {

grpc::ByteBuffer ToByteBuffer(const Frame& frame) {
  return JoinSlices(EncodeFrameHead(frame), PayloadOf(frame.body));
}

absl::StatusOr<Frame> FromByteBuffer(const grpc::ByteBuffer& buffer,
                                     int64_t max_bytes) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<SharedBytes> slices,
                          ShareSlices(buffer));
  return DecodeFrame(slices, max_bytes);
}

}  // namespace gandem
