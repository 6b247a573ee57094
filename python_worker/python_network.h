// SPDX-License-Identifier: Apache-2.0
//
// Users' torch.nn.Modules as networks, run by python/gandem/_network.py.
// Parameters and buffers are the module's own tensors and names, so optimizers,
// averages and checkpoints work without Python. Forward passes take the
// interpreter's lock; backward passes run without it.
//
// kFrozen and kEvaluate passes use copies of the buffers. Torch's random
// numbers are seeded before each kTrain and kFrozen pass from (seed, role,
// Condition::place).
//
// Owner: a worker, through the registry. Thread safety: one compute thread,
// without the interpreter's lock.
// Errors: StatusError. FAILED_PRECONDITION: the file cannot be loaded, the
// class or its arguments do not fit (named in the message), or the user's code
// raised (the message is Python's traceback).
#pragma once

#include "models/families/network_host.h"

namespace gandem {

NetworkHost PythonNetworkHost();

}  // namespace gandem
