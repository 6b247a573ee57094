// SPDX-License-Identifier: Apache-2.0
//
// Requests of gandem and their answers, until it closes its end.
//
// Owner: main(). Thread safety: one thread.
#pragma once

#include "absl/status/status.h"
#include "extras/parquet/frame_socket.h"

namespace gandem {

// OK when the other end has closed the socket. Faults of a file are answers;
// what is returned are faults of the socket.
absl::Status ServeShards(FrameSocket& socket);

}  // namespace gandem
