// SPDX-License-Identifier: Apache-2.0
//
// The life of a worker process, the same for every role: register with the
// coordinator, run one epoch after the other, leave with the right exit code
// (common/exit_code.h). The mains only say which role they are.
//
// Signals: SIGTERM asks the run to stop at a checkpoint; SIGINT is left to
// `gandem`, whose terminal it comes from.
//
// Thread safety: call once, from main, before any other thread exists.
#pragma once

#include "proto/metrics.pb.h"

namespace gandem {

int WorkerMain(Role role, int argc, char** argv);

}  // namespace gandem
