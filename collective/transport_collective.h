// SPDX-License-Identifier: Apache-2.0
//
// A Collective over a Transport: one thread runs the operations in order.
//
// Owner: the caller. The destructor gives up operations that are not done, then
// says goodbye to the peers; end with a Barrier to be sure that all are done.
// Thread safety and errors: collective.h.
#pragma once

#include <memory>

#include "collective/collective.h"
#include "collective/operation_runner.h"
#include "collective/transport.h"

namespace gandem {

// Connects in the background.
std::unique_ptr<Collective> CreateTransportCollective(
    const RunnerOptions& options, std::unique_ptr<Transport> transport);

}  // namespace gandem
