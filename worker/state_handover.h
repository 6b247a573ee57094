// SPDX-License-Identifier: Apache-2.0
//
// How the ranks of a fleet that has re-formed come to one state (docs/
// fleets.md): that of the rank whose role had come furthest, never an older
// one. A worker holds the state of its role in memory from one run epoch to the
// next; a newcomer holds none.
//
// Owner: WorkerMain holds the state. Thread safety: the compute thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "collective/collective.h"
#include "common/checkpoint/safetensors.h"
#include "training/roles/run_roles.h"

namespace gandem {

struct HeldState {
  // Position of the role: the run epoch, and the updates since the run began as
  // that epoch counts them. The state with the larger pair is the newer one.
  int64_t run_epoch = 0;
  int64_t updates = 0;
  int64_t completed_rounds = 0;
  std::vector<NamedTensor> tensors = {};  // those of a checkpoint
};

// The newest state of all ranks, from the lowest rank that has it; the same
// bytes on all. All ranks call it, before any other operation of `fleet` (null:
// the only rank). Waits as RunRoles does.
//   FAILED_PRECONDITION  no rank holds a state.
//   INVALID_ARGUMENT     a tensor cannot be sent, see SerializeSafetensors.
//   Collective::Wait's others.
absl::StatusOr<std::vector<NamedTensor>> TakeNewestState(
    const std::optional<HeldState>& own, Collective* fleet,
    const RunRolesOptions& waiting);

}  // namespace gandem
