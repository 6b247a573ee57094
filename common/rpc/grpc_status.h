// SPDX-License-Identifier: Apache-2.0
//
// Converts absl::Status for an RPC. Codes map one to one. An ErrorDetail is
// sent as payload, so that no code has to parse messages.
//
// Thread safety: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>

#include "absl/status/status.h"
#include "proto/error.pb.h"

namespace gandem {

// Truncates messages to 2000 bytes, because gRPC limits trailers to 8 KiB.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

// `status` must not be OK.
absl::Status WithErrorDetail(absl::Status status, const ErrorDetail& detail);
std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status);

}  // namespace gandem
