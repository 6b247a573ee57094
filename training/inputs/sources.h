// SPDX-License-Identifier: Apache-2.0
//
// Sources of a role's inputs. Every draw is a pure function of (seed, purpose,
// step, index): design.md section 5.
//
// Owner: copied by the role. Thread safety: the role's compute thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/philox.h"
#include "exchange/schedule.h"
#include "models/network.h"
#include "training/compute/tensor_bytes.h"

namespace gandem {

// Returns noise_NZ for samples `range` of a step.
using NoiseSource =
    std::function<at::Tensor(Purpose purpose, int64_t step, IndexRange range)>;

struct RealImages {
  at::Tensor images_NCHW;
  Condition condition = {};
};

// Returns this rank's real images of step `step`. Called in order of steps.
//   DEADLINE_EXCEEDED  not ready yet; call again.
using RealImageSource = std::function<absl::StatusOr<RealImages>(
    int64_t step, absl::Time deadline)>;

// Draws standard normal noise.
NoiseSource KeyedNoise(uint64_t seed, int64_t noise_dim,
                       const Compute& compute);

}  // namespace gandem
