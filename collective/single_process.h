// SPDX-License-Identifier: Apache-2.0
//
// The collective of a fleet of one: every operation is done at once. Buffers
// may be on any device, for nothing touches them.
//
// Owner: the caller. Thread safety and errors: collective.h.
#pragma once

#include <memory>

#include "collective/collective.h"

namespace gandem {

std::unique_ptr<Collective> CreateSingleProcess();

}  // namespace gandem
