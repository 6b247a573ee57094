// SPDX-License-Identifier: Apache-2.0
//
// A message that takes no memory of the process that sends it.
//
// Thread safety: any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <string>
#include <vector>

namespace gandem::testing {

// Of so many MiB, which are all the same one.
inline grpc::ByteBuffer LargeMessage(size_t mebibytes) {
  static const std::string piece(size_t{1} << 20, 'x');
  const grpc::Slice slice(piece.data(), piece.size(),
                          grpc::Slice::STATIC_SLICE);
  const std::vector<grpc::Slice> slices(mebibytes, slice);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace gandem::testing
