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
#include "exchange/schedule.h"
#include "pipeline/dataset.h"
#include "training/compute/compute.h"
#include "training/inputs/data_plan.h"
#include "training/inputs/sources.h"

namespace gandem {

// Which steps, and which part of each.
struct RealSteps {
  int64_t first = 0;  // step
  int64_t batch_size = 1;
  IndexRange slice = {};  // of a batch
};

absl::StatusOr<RealImageSource> ReadRealImages(
    const DataPlan& plan, std::shared_ptr<const Dataset> dataset,
    const RealSteps& steps, const Compute& compute);

}  // namespace gandem
