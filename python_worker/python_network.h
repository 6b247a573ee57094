// SPDX-License-Identifier: Apache-2.0
//
// Networks that are torch.nn.Modules of the user, made and run by
// python/gandem/_network.py. Parameters and buffers are the module's own
// tensors under the module's names, so that optimizers, averages and
// checkpoints need nothing of Python; only a forward pass takes the
// interpreter's lock, and backward passes run without it.
//
// Passes in kFrozen and kEvaluate work on copies of the buffers. Torch's random
// numbers are seeded before each pass in kTrain and kFrozen, as a function of
// (seed, role, Condition::place).
//
// Owner: a worker, through the registry. Thread safety: one compute thread,
// which does not hold the interpreter's lock.
// Errors: StatusError. FAILED_PRECONDITION: the file cannot be loaded, the
// class or its arguments do not fit (the message says which), or the user's
// code raised (the message is Python's traceback).
#pragma once

#include "models/families/network_host.h"

namespace gandem {

NetworkHost PythonNetworkHost();

}  // namespace gandem
