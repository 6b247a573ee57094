// SPDX-License-Identifier: Apache-2.0
//
// How far a run is, and what each of its workers does.
//
// Thread safety: pure function of a machine that does not change meanwhile.
#pragma once

#include "absl/time/time.h"
#include "control_plane/coordinator/epoch_machine.h"
#include "proto/control.pb.h"

namespace gandem {

// All that the machine knows; `now` is as of EpochMachine::On.
StatusReply StatusOf(const EpochMachine& machine, absl::Time now);

}  // namespace gandem
