// SPDX-License-Identifier: Apache-2.0
//
// Status of a run and of each worker.
//
// Thread safety: the machine must not change during the call.
#pragma once

#include "absl/time/time.h"
#include "control_plane/coordinator/epoch_machine.h"
#include "proto/control.pb.h"

namespace gandem {

// `now`: time as passed to EpochMachine::On.
StatusReply StatusOf(const EpochMachine& machine, absl::Time now);

}  // namespace gandem
