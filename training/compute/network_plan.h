// SPDX-License-Identifier: Apache-2.0
//
// A role's network as configured: architecture, batch sizes, device and types.
// DeviceOf resolves "cuda" without a number; choose_compute.h resolves AUTO.
//
// Owner: values; part of a RolePlan. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/config/data_shape.h"
#include "proto/config.pb.h"
#include "proto/metrics.pb.h"
#include "training/compute/compute.h"

namespace gandem {

struct NetworkPlan {
  Role role = ROLE_UNKNOWN;  // GENERATOR or DISCRIMINATOR
  NetworkConfig network = {};
  DataShape data = {};
  uint64_t seed = 0;        // for the initial parameters
  int64_t batch_size = 1;   // over the whole fleet
  int64_t micro_batch = 0;  // images per pass; 0: the whole batch
  std::string device = "cpu";
  int threads = 1;
  RoleConfig::Precision precision = RoleConfig::FLOAT32;
  MemoryLayout layout = NCHW;
  bool deterministic = true;
  bool may_be_float16 = true;  // if precision is AUTO
  bool recompute_blocks = false;
};

// Returns the layout in which images are sent; NCHW for AUTO.
Layout LayoutOf(MemoryLayout layout);

// `choice` must not contain AUTO (choose_compute.h).
//   FAILED_PRECONDITION  this machine lacks the device.
absl::StatusOr<Compute> ComputeFrom(const NetworkPlan& plan,
                                    const ComputeChoice& choice);

// Returns the device of the worker at `position` among the workers of its role
// on a host. "cuda" means one of `num_gpus`, in ascending order for generators
// and descending order for discriminators, shared if there are too few.
std::string DeviceOf(const NetworkPlan& plan, int position, int num_gpus);

}  // namespace gandem
