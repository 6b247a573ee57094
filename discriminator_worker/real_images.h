// SPDX-License-Identifier: Apache-2.0
//
// Real images for the discriminator's steps: read ahead in the keyed order of
// the run, cut to a worker's slice, and with what belongs to them (labels, or
// the other half of a pair).
//
// Owner: a discriminator's role. Thread safety: the compute thread; reading
// ahead has a thread of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"
#include "proto/config.pb.h"
#include "training/compute/compute.h"
#include "training/inputs/sources.h"

namespace gandem {

// Those of steps of `batch_size` from `first_step` on, for worker `rank`.
absl::StatusOr<RealImageSource> ReadRealImages(
    const RunConfig& config, std::shared_ptr<const Dataset> dataset,
    int64_t batch_size, int64_t first_step, int rank, const Compute& compute);

}  // namespace gandem
