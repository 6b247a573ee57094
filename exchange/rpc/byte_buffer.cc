// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/byte_buffer.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gandem {
namespace {

void DeleteSharedBytes(void* bytes) { delete static_cast<SharedBytes*>(bytes); }

// A slice that keeps the bytes alive. gRPC only reads what it sends.
grpc::Slice ShareSlice(const SharedBytes& bytes) {
  return grpc::Slice(const_cast<std::byte*>(bytes.data()), bytes.size(),
                     &DeleteSharedBytes, new SharedBytes(bytes));
}

}  // namespace

grpc::ByteBuffer ToByteBuffer(const Frame& frame) {
  const grpc::Slice slices[] = {grpc::Slice(EncodeFrameHead(frame)),
                                ShareSlice(frame.payload)};
  return grpc::ByteBuffer(slices, frame.payload.empty() ? 1 : 2);
}

absl::StatusOr<Frame> FromByteBuffer(const grpc::ByteBuffer& buffer,
                                     int64_t max_bytes) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) {
    return absl::InvalidArgumentError("malformed frame: cannot be unpacked");
  }
  std::vector<std::span<const std::byte>> pieces;
  pieces.reserve(slices.size());
  for (const grpc::Slice& slice : slices) {
    pieces.push_back(
        std::as_bytes(std::span<const uint8_t>(slice.begin(), slice.size())));
  }
  return DecodeFrame(pieces, max_bytes);
}

}  // namespace gandem
