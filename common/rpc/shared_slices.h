// SPDX-License-Identifier: Apache-2.0
//
// Converts shared bytes to gRPC messages and back without a copy.
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

// Returns a message of `head` and `payload`; shares the memory of `payload`.
grpc::ByteBuffer JoinSlices(const std::string& head,
                            const SharedBytes& payload);

// Returns the received pieces of a message in order.
//   INVALID_ARGUMENT  the message cannot be unpacked
absl::StatusOr<std::vector<SharedBytes>> ShareSlices(
    const grpc::ByteBuffer& buffer);

// Passes the failpoint and flips a bit of the message if it is armed.
void DamageMessage(absl::string_view failpoint, grpc::ByteBuffer& message);

// Returns an interceptor that applies `damage` to all sent messages of a call,
// or null if `method` is not of the control plane. gRPC takes ownership.
grpc::experimental::Interceptor* NewControlDamage(
    absl::string_view method, void (*damage)(grpc::ByteBuffer& message));

}  // namespace gandem
