// SPDX-License-Identifier: Apache-2.0
//
// Simulates a failing network: ends connections of this process at both ends
// without notice. New connections work at once.
//
// Thread safety: any thread; whoever uses a connection sees its end.
#pragma once

#include "absl/strings/string_view.h"

namespace gandem {

// Cuts the connections whose name contains `part`. The name of a unix socket's
// connection is the path on which its server listens; a TCP connection is named
// "tcp". Sockets without a name and listening sockets are kept.
void CutConnections(absl::string_view part);

}  // namespace gandem
