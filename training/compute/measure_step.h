// SPDX-License-Identifier: Apache-2.0
//
// Measures the time and memory of a role's training step on this machine:
// forward and backward passes of its own network. Omits the other role, data,
// exchange and optimizer, which do not depend on precision and layout.
//
// A generator's step runs all micro-batches forward, then all backward from
// given image gradients. A discriminator's step runs each real and then each
// generated micro-batch forward and backward. Images and weights are random.
//
// Thread safety: the compute thread. Other work on the machine distorts times.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "training/compute/compute.h"
#include "training/compute/network_plan.h"

namespace gandem {

struct StepCost {
  absl::Duration time;     // the fastest step
  int64_t peak_bytes = 0;  // all tensors on the device, with parameters
};

struct MeasureOptions {
  int64_t batch_size = 0;  // 0: the role's batch size
  int steps = 3;           // >= 1, in addition to one warm-up step
  // If the warm-up step takes longer, its time is the result.
  absl::Duration warmup_limit = absl::InfiniteDuration();
};

// Uses the layout and precision of `compute` instead of those of `plan`.
//   RESOURCE_EXHAUSTED  out of memory.
//   INTERNAL            LibTorch does not support this step on the device.
absl::StatusOr<StepCost> MeasureStep(const NetworkPlan& plan,
                                     const Compute& compute,
                                     const MeasureOptions& options = {});

}  // namespace gandem
