// SPDX-License-Identifier: Apache-2.0
//
// absl::Status across an RPC. Codes map one to one; an ErrorDetail travels as
// payload, so that no branch reads message text.
//
// Thread safety: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>

#include "absl/status/status.h"
#include "proto/error.pb.h"

namespace gandem {

// Messages longer than 2000 bytes are cut: gRPC sends them in the trailers,
// which are limited to 8 KiB.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

// `status` must not be OK.
absl::Status WithErrorDetail(absl::Status status, const ErrorDetail& detail);
std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status);

}  // namespace gandem
