// SPDX-License-Identifier: Apache-2.0
//
// What a training step of one role costs on this machine: time and memory of
// its own network's forward and backward passes. Without the other role, data,
// exchange and optimizer, which do not depend on how it computes.
//
// A generator's step: all micro-batches forward, then all backward, from given
// image gradients. A discriminator's: each real and then each generated
// micro-batch, forward and backward. On random images, with random weights.
//
// Thread safety: the compute thread; other work on the machine is measured too.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "training/compute/compute.h"
#include "training/compute/network_plan.h"

namespace gandem {

struct StepCost {
  absl::Duration time;     // of the fastest step
  int64_t peak_bytes = 0;  // of all tensors on the device, parameters included
};

struct MeasureOptions {
  int64_t batch_size = 0;  // 0: that of the role
  int steps = 3;           // >= 1, after one that warms up
  // A warm-up that took longer is the answer: no further steps.
  absl::Duration warmup_limit = absl::InfiniteDuration();
};

// Layout and precision of `plan` do not count, `compute` does.
//   RESOURCE_EXHAUSTED  out of memory.
//   INTERNAL            LibTorch cannot do this on this device.
absl::StatusOr<StepCost> MeasureStep(const NetworkPlan& plan,
                                     const Compute& compute,
                                     const MeasureOptions& options = {});

}  // namespace gandem
