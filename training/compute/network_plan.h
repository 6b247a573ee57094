// SPDX-License-Identifier: Apache-2.0
//
// What a config says of a role's network: what it is, how many images it sees
// at a time, where and in which types it computes. What may still be open is
// "cuda" without a number (DeviceOf) and AUTO (choose_compute.h).
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
  uint64_t seed = 0;        // of its first parameters
  int64_t batch_size = 1;   // over the whole fleet
  int64_t micro_batch = 0;  // images of a pass; 0: all of a batch
  std::string device = "cpu";
  int threads = 1;
  RoleConfig::Precision precision = RoleConfig::FLOAT32;
  MemoryLayout layout = NCHW;
  bool deterministic = true;
  bool may_be_float16 = true;  // where precision is AUTO
  bool recompute_blocks = false;
};

// AUTO stands for NCHW, in which its images are sent.
Layout LayoutOf(MemoryLayout layout);

// `choice` has no AUTO in it (choose_compute.h).
//   FAILED_PRECONDITION  the device is not there; says what is.
absl::StatusOr<Compute> ComputeFrom(const NetworkPlan& plan,
                                    const ComputeChoice& choice);

// The device of the worker at `position` among those of its role on a host with
// `num_gpus`. "cuda" is a GPU for each as far as they last: generators count
// from the first one up, discriminators from the last one down. All others are
// themselves.
std::string DeviceOf(const NetworkPlan& plan, int position, int num_gpus);

}  // namespace gandem
