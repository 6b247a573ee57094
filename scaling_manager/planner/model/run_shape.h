// SPDX-License-Identifier: Apache-2.0
//
// Input of the cost model: config, placement, machines and profile of a run as
// plain numbers, checked.
// Owner: values that never change. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT and NOT_FOUND name the field or the worker, and the
// accepted values.
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
  // Each worker has its own device, so workers do not slow each other down.
  bool has_devices = false;
};

struct ProcessShape {
  size_t host = 0;
  int threads = 1;
};

// Synchronization of the networks of a role's workers.
struct SumShape {
  bool averages_state = false;  // sync.mode AVERAGE_STATE
  int64_t interval = 1;         // of averages, in updates
  int64_t bucket_bytes = int64_t{4} << 20;
  double wire_factor = 1;  // bytes sent per byte of a gradient
};

struct RoleShape {
  Role role = GENERATOR;
  // Index into RunShape::processes, by rank.
  std::vector<size_t> processes = {};
  RoleSettings settings = {};
  RoleCosts times = {};
  StateSize state = {};
  SumShape sums = {};
  bool on_gpu = false;

  int size() const { return static_cast<int>(processes.size()); }
  int64_t network_bytes() const {
    return state.parameter_bytes() + state.buffer_bytes();
  }
};

struct RunShape {
  Schedule schedule = {};
  int64_t max_samples_per_image = 1;
  int64_t cache_images = 0;  // per discriminator worker
  int64_t image_bytes = 0;   // bytes of one image in a message
  int64_t feedback_bytes = 0;
  // FUSED: share of a training pass before the answer on generated images.
  double answer_part = 1;
  int64_t rounds_to_agreement = 1;
  bool colocated = false;

  std::vector<HostShape> hosts = {};
  std::vector<ProcessShape> processes = {};
  RoleShape generator = {};
  RoleShape discriminator = {};
  LinkTimes links = {};
  // Real images per second of a decode thread; 0: images are in memory.
  double images_per_decode_thread = 0;
  int64_t prefetch_batches = 1;

  const RoleShape& role(Role role) const {
    return role == GENERATOR ? generator : discriminator;
  }
  // Returns the generated images of rank 0 of a role in a round. A
  // discriminator trains on as many real images.
  int64_t RoundImages(Role role) const;
  int ThreadsOn(size_t host) const;
  size_t HostOf(const RoleShape& role, int rank) const {
    return processes[role.processes[rank]].host;
  }
  // Returns the numbers of ranks of the hosts that have any.
  std::vector<int> RanksByHost(const RoleShape& role) const;
  // Returns the ranks per core on the fullest host, at least 1.
  double Crowding(const RoleShape& role) const;
};

// Checks that each worker of the valid config has one place on a known host.
absl::Status CheckPlacement(const Placement& placement,
                            const Machines& machines, const RunConfig& config);

absl::StatusOr<RunShape> MakeRunShape(const ProfileCosts& costs,
                                      const Machines& machines,
                                      const RunConfig& config,
                                      const Placement& placement);

// --- The sums of a fleet with several ranks (docs/cost_model.md section 4) ---

struct SumPart {
  double seconds = 0;
  int64_t bytes = 0;  // sent by a host
};

// Returns the sums of the gradients of a step, in a few launches of one or more
// buckets. The first launch includes the buffers of rank 0.
std::vector<SumPart> GradientParts(const RunShape& shape,
                                   const RoleShape& role);
// Returns one sum of parameters, buffers and the optimizer's state.
std::vector<SumPart> StateParts(const RunShape& shape, const RoleShape& role);

}  // namespace gandem
