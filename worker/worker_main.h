// SPDX-License-Identifier: Apache-2.0
//
// Life of a worker process of any role: register with the coordinator, run
// epochs, exit with the right code (common/process/exit_code.h). A main
// function provides its role and the factories.
//
// Signals: SIGTERM asks the run to stop at a checkpoint; SIGINT is handled by
// `gandem`, whose terminal sends it.
//
// Thread safety: call once, from main, before any other thread exists.
#pragma once

#include "proto/metrics.pb.h"
#include "training/roles/role_parts.h"

namespace gandem {

int WorkerMain(Role role, RoleFactories roles, int argc, char** argv);

}  // namespace gandem
