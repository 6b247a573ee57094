// SPDX-License-Identifier: Apache-2.0
//
// Whether this host has what a run needs: memory and descriptors. What the host
// has is an argument, so that a test can plant a host.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "control_plane/doctor/finding.h"
#include "proto/plan.pb.h"

namespace gandem {

// Compares the memory that is free here with what the plan's workers need on
// the host where they need most. Without a plan: only what is free.
Finding CheckMemory(const Candidate* plan, int64_t free_bytes);

// Connections and files that a process may have.
Finding CheckDescriptors(int64_t limit);

}  // namespace gandem
