// SPDX-License-Identifier: Apache-2.0
//
// The first words of a call, in its metadata: who calls. gRPC takes a message
// of up to 4 GiB into memory before it looks at its size; metadata has at most
// 8 KiB. So a server knows its caller before it reads a message.
//
// Owner: the calls' metadata. Thread safety: as the calls.
// Errors: INVALID_ARGUMENT for a call without an opening, or with a wrong one.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

inline constexpr size_t kMaxOpeningBytes = 4096;

// Before the call starts. At most kMaxOpeningBytes.
void SayOpening(const grpc::ByteBuffer& opening, grpc::ClientContext& call);
void SayOpening(absl::string_view opening, grpc::ClientContext& call);

absl::StatusOr<grpc::ByteBuffer> HearOpening(
    const grpc::CallbackServerContext& call);

}  // namespace gandem
