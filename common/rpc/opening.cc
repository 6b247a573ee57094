// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/opening.h"

#include <iterator>
#include <string>

#include "common/check.h"

namespace gandem {
namespace {

// "-bin": any bytes.
constexpr char kOpeningKey[] = "gandem-opening-bin";

}  // namespace

void SayOpening(absl::string_view opening, grpc::ClientContext& call) {
  GANDEM_CHECK(opening.size() <= kMaxOpeningBytes);
  call.AddMetadata(kOpeningKey, std::string(opening));
}

void SayOpening(const grpc::ByteBuffer& opening, grpc::ClientContext& call) {
  grpc::Slice bytes;
  GANDEM_CHECK(opening.DumpToSingleSlice(&bytes).ok());
  SayOpening(absl::string_view(reinterpret_cast<const char*>(bytes.begin()),
                               bytes.size()),
             call);
}

absl::StatusOr<grpc::ByteBuffer> HearOpening(
    const grpc::CallbackServerContext& call) {
  const auto [first, last] = call.client_metadata().equal_range(kOpeningKey);
  if (first == last) {
    return absl::InvalidArgumentError(
        "the call does not say who calls: there is no opening in its metadata");
  }
  if (std::next(first) != last || first->second.size() > kMaxOpeningBytes) {
    return absl::InvalidArgumentError(
        "the call's metadata has two openings, or one that is too long");
  }
  const grpc::Slice bytes(first->second.data(), first->second.size());
  return grpc::ByteBuffer(&bytes, 1);
}

}  // namespace gandem
