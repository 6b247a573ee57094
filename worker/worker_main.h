// SPDX-License-Identifier: Apache-2.0
//
// The life of a worker process, the same for every role: register with the
// coordinator, run one epoch after the other, leave with the right exit code
// (common/process/exit_code.h). The mains only say which role they are, and
// hand over how it is built.
//
// Signals: SIGTERM asks the run to stop at a checkpoint; SIGINT is left to
// `gandem`, whose terminal it comes from.
//
// Thread safety: call once, from main, before any other thread exists.
#pragma once

#include "proto/metrics.pb.h"
#include "training/roles/role_parts.h"

namespace gandem {

int WorkerMain(Role role, RoleFactories roles, int argc, char** argv);

}  // namespace gandem
