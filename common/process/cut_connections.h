// SPDX-License-Identifier: Apache-2.0
//
// Simulates a network failure by shutting down connections of this process
// without notice. New connections work at once.
//
// Thread safety: any thread; users of a connection see its end.
#pragma once

#include "absl/strings/string_view.h"

namespace gandem {

// Shuts down connections whose name contains `part`. The name of a unix socket
// connection is the server's path; the name of a TCP connection is "tcp".
// Unnamed and listening sockets stay open.
void CutConnections(absl::string_view part);

}  // namespace gandem
