// SPDX-License-Identifier: Apache-2.0
//
// For what AUTO was measured: a choice that was made before the first
// checkpoint holds as long as nothing that could change it has changed.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "training/compute/network_plan.h"

namespace gandem {

// A digest of the network, its batch, what may be chosen for it and the kind of
// this machine: its processor, and its GPUs if the network is on one.
std::string MeasuredFor(const NetworkPlan& plan);

}  // namespace gandem
