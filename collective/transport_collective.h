// SPDX-License-Identifier: Apache-2.0
//
// Collective over a Transport, with one thread that runs operations in order.
//
// Owner: the caller. The destructor cancels unfinished operations and says
// goodbye to the peers; end with a Barrier to finish all operations.
// Thread safety and errors: collective.h.
#pragma once

#include <memory>

#include "collective/collective.h"
#include "collective/operation_runner.h"
#include "collective/transport.h"

namespace gandem {

std::unique_ptr<Collective> CreateTransportCollective(
    const RunnerOptions& options, std::unique_ptr<Transport> transport);

}  // namespace gandem
