// SPDX-License-Identifier: Apache-2.0
//
// Keeps gRPC running until the process ends. When the last channel or server of
// a process goes, gRPC stops its own threads, and in 1.51 that can take 10 s (a
// thread that still polls) or abort (an event left in the queue that callback
// calls share). A worker's exchange comes and goes with the run epochs.
//
// Owner: the process. Thread safety: any thread.
#pragma once

namespace gandem {

// CreateChannel and RpcServer::Start call it.
void KeepGrpcRunning();

}  // namespace gandem
