// SPDX-License-Identifier: Apache-2.0
//
// Answers gandem's requests until gandem closes the socket.
//
// Owner: main(). Thread safety: one thread.
#pragma once

#include "absl/status/status.h"
#include "extras/parquet/frame_socket.h"

namespace gandem {

// Returns OK once the other end has closed the socket, or a fault of the
// socket. A fault of a file is sent as an answer.
absl::Status ServeShards(FrameSocket& socket);

}  // namespace gandem
