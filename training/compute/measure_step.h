// SPDX-License-Identifier: Apache-2.0
//
// Measures a training step of one role on this machine: time and memory of the
// forward and backward passes of its own network. The other role, data,
// exchange and optimizer are left out: they do not depend on the precision and
// the layout.
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
  int64_t batch_size = 0;  // 0: the batch size of the role
  int steps = 3;           // >= 1, not counting one warm-up step
  // If the warm-up step takes longer, its time is the result.
  absl::Duration warmup_limit = absl::InfiniteDuration();
};

// Uses the layout and precision of `compute`, not those of `plan`.
//   RESOURCE_EXHAUSTED  out of memory.
//   INTERNAL            LibTorch does not support this on the device.
absl::StatusOr<StepCost> MeasureStep(const NetworkPlan& plan,
                                     const Compute& compute,
                                     const MeasureOptions& options = {});

}  // namespace gandem
