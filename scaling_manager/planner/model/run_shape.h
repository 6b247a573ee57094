// SPDX-License-Identifier: Apache-2.0
//
// A run as the cost model sees it: config, placement, machines and profile as
// plain numbers, with all that was wrong with them found.
//
// Owner: values; they never change once made. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT and NOT_FOUND name the field, or the worker, and say
// what would be accepted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exchange/schedule.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/model/link_times.h"
#include "scaling_manager/planner/model/role_costs.h"

namespace gandem {

struct HostShape {
  std::string name = {};
  int cores = 1;
  double speed = 1;
  // Each worker has a device of its own: nobody's computing disturbs another's.
  bool has_devices = false;
};

struct ProcessShape {
  size_t host = 0;
  int threads = 1;
};

// How the workers of a role become one network.
struct SumShape {
  bool averages_state = false;  // sync.mode AVERAGE_STATE
  int64_t interval = 1;         // of averages, in updates
  int64_t bucket_bytes = int64_t{4} << 20;
  double wire_factor = 1;  // bytes on the way per byte of a gradient
};

struct RoleShape {
  Role role = GENERATOR;
  // By rank: which process it runs in.
  std::vector<size_t> processes = {};
  RoleSettings settings = {};
  RoleCosts times = {};
  StateSize state = {};
  SumShape sums = {};
  bool on_gpu = false;

  int size() const { return static_cast<int>(processes.size()); }
  // Parameters and buffers: what a critic is.
  int64_t network_bytes() const {
    return state.parameter_bytes() + state.buffer_bytes();
  }
};

struct RunShape {
  Schedule schedule = {};
  int64_t max_samples_per_image = 1;
  int64_t cache_images = 0;  // of a discriminator worker
  int64_t image_bytes = 0;   // of one image on the wire
  int64_t feedback_bytes = 0;
  // FUSED: of a training pass on generated images, what comes before its answer
  // leaves.
  double answer_part = 1;
  int64_t rounds_to_agreement = 1;
  bool colocated = false;

  std::vector<HostShape> hosts = {};
  std::vector<ProcessShape> processes = {};
  RoleShape generator = {};
  RoleShape discriminator = {};
  LinkTimes links = {};
  // Real images a second that a decode thread makes; 0: they are all there.
  double images_per_decode_thread = 0;
  int64_t prefetch_batches = 1;

  const RoleShape& role(Role role) const {
    return role == GENERATOR ? generator : discriminator;
  }
  // Of rank 0 of a role, in a round's steps; a discriminator has as many real
  // ones.
  int64_t RoundImages(Role role) const;
  // Of the workers' threads on a host.
  int ThreadsOn(size_t host) const;
  size_t HostOf(const RoleShape& role, int rank) const {
    return processes[role.processes[rank]].host;
  }
  // How many ranks each host has that has any.
  std::vector<int> RanksByHost(const RoleShape& role) const;
  // How many ranks share a core, at least 1, on the fullest host.
  double Crowding(const RoleShape& role) const;
};

// Does each worker of the config have one place, on a host of the machines? The
// config is valid.
absl::Status CheckPlacement(const Placement& placement,
                            const Machines& machines, const RunConfig& config);

absl::StatusOr<RunShape> MakeRunShape(const ProfileCosts& costs,
                                      const Machines& machines,
                                      const RunConfig& config,
                                      const Placement& placement);

// --- What a fleet of several ranks sums (docs/cost_model.md section 4) ---

struct SumPart {
  double seconds = 0;
  int64_t bytes = 0;  // that a host sends for it
};

// The gradients of a step, in a few launches of one or more buckets, and with
// the first the buffers of rank 0.
std::vector<SumPart> GradientParts(const RunShape& shape,
                                   const RoleShape& role);
// Parameters, buffers and optimizer's state at once.
std::vector<SumPart> StateParts(const RunShape& shape, const RoleShape& role);

}  // namespace gandem
