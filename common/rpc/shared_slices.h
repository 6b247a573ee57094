// SPDX-License-Identifier: Apache-2.0
//
// Shared bytes as gRPC's messages and back, without a copy.
//
// Thread safety: pure functions.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/interceptor.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/shared_bytes.h"

namespace gandem {

// `head`, then `payload`, whose memory the message shares.
grpc::ByteBuffer JoinSlices(const std::string& head,
                            const SharedBytes& payload);

// The pieces in which gRPC received a message, in order.
//   INVALID_ARGUMENT  it cannot be unpacked.
absl::StatusOr<std::vector<SharedBytes>> ShareSlices(
    const grpc::ByteBuffer& buffer);

// Damages a message in tests: passes this failpoint, which may flip a bit of
// it.
void DamageMessage(absl::string_view failpoint, grpc::ByteBuffer& message);

// Does that to all that is sent in a call of `method`, for either end of it;
// null for calls that are none of the control plane's. gRPC takes it.
grpc::experimental::Interceptor* NewControlDamage(
    absl::string_view method, void (*damage)(grpc::ByteBuffer& message));

}  // namespace gandem
