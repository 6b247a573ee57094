// SPDX-License-Identifier: Apache-2.0
//
// Brings the ranks of a re-formed fleet to one state (docs/fleets.md): the
// newest state of any rank. A worker keeps its role's state in memory between
// run epochs; a new worker has none.
//
// Owner of the state: WorkerMain. Thread safety: the compute thread.
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
  // Run epoch, and updates since the start of the run as counted by that epoch.
  // The state with the larger pair is newer.
  int64_t run_epoch = 0;
  int64_t updates = 0;
  int64_t completed_rounds = 0;
  std::vector<NamedTensor> tensors = {};  // those of a checkpoint
};

// Returns the newest state of all ranks, from the lowest rank that has it. All
// ranks must call it before any other operation of `fleet` (null: the only
// rank), and get equal bytes. Waits like RunRoles.
//   FAILED_PRECONDITION  no rank has a state
//   INVALID_ARGUMENT     a tensor cannot be sent, see SerializeSafetensors
//   other                those of Collective::Wait
absl::StatusOr<std::vector<NamedTensor>> TakeNewestState(
    const std::optional<HeldState>& own, Collective* fleet,
    const RunRolesOptions& waiting);

}  // namespace gandem
