// SPDX-License-Identifier: Apache-2.0
//
// What a failing network does to a process: its connections end, at both ends
// and without a word. New ones can be made at once.
//
// Thread safety: any thread; whoever uses a connection sees its end.
#pragma once

#include "absl/strings/string_view.h"

namespace gandem {

// Those whose name contains `part`. The name of a unix socket's connection is
// the path on which its server listens, that of a TCP connection is "tcp".
// Sockets without a name and sockets that listen stay as they are.
void CutConnections(absl::string_view part);

}  // namespace gandem
