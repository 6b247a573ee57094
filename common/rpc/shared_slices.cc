// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/shared_slices.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gandem {
namespace {

void DeleteSharedBytes(void* bytes) { delete static_cast<SharedBytes*>(bytes); }

// A slice that keeps the bytes alive. gRPC only reads what it sends.
grpc::Slice ShareSlice(const SharedBytes& bytes) {
  return grpc::Slice(const_cast<std::byte*>(bytes.data()), bytes.size(),
                     &DeleteSharedBytes, new SharedBytes(bytes));
}

}  // namespace

grpc::ByteBuffer JoinSlices(const std::string& head,
                            const SharedBytes& payload) {
  const grpc::Slice slices[] = {grpc::Slice(head), ShareSlice(payload)};
  return grpc::ByteBuffer(slices, payload.empty() ? 1 : 2);
}

absl::StatusOr<std::vector<SharedBytes>> ShareSlices(
    const grpc::ByteBuffer& buffer) {
  const auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!buffer.Dump(slices.get()).ok()) {
    return absl::InvalidArgumentError("malformed frame: cannot be unpacked");
  }
  std::vector<SharedBytes> result;
  result.reserve(slices->size());
  for (const grpc::Slice& slice : *slices) {
    result.emplace_back(slices, std::as_bytes(std::span<const uint8_t>(
                                    slice.begin(), slice.size())));
  }
  return result;
}

}  // namespace gandem
