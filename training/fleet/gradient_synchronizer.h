// SPDX-License-Identifier: Apache-2.0
//
// Keeps a network equal on all ranks of a fleet (design.md section 7). A step:
//
//   ... backward passes of all micro-batches except the last ...
//   synchronizer.ExpectLastBackward();
//   ... the last backward pass, which sends the gradients ...
//   GANDEM_RETURN_IF_ERROR(synchronizer.Reduce(deadline));
//   ... clip and update: identical on all ranks ...
//   GANDEM_RETURN_IF_ERROR(synchronizer.AfterUpdate(step, deadline));
//
// ACCUMULATE: sums gradients over all ranks and copies buffers from rank 0, so
// that all ranks have bit-identical parameters, buffers and optimizers. Each
// rank's loss is its share of the global batch's loss, so the sum is the
// gradient of the global batch. Buffers that are means over images
// (kImageMeanSuffix in models/network.h) are averaged over all images.
//
// AVERAGE_STATE (local SGD, Stich 2019): each rank updates independently with
// the mean gradient over its images. After every interval-th update, averages
// parameters, buffers and optimizer state over the ranks, weighted by their
// shares of the batch; copies counters from rank 0.
//
// With one rank, all functions do nothing.
//
// Owner: the role, one per network; shares the network's tensors. The
// collectives outlive it.
// Thread safety: one compute thread.
// Errors of Reduce and AfterUpdate are equal on all ranks and final, except for
// the first:
//   DEADLINE_EXCEEDED    call again.
//   FAILED_PRECONDITION  no rank has a gradient of some parameters.
//   OUT_OF_RANGE         a gradient is not finite.
//   DATA_LOSS            the ranks' states differ.
//   other errors of Collective::Wait.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collective/collective.h"
#include "training/fleet/fleet_collectives.h"
#include "training/fleet/gradient_buckets.h"
#include "training/fleet/state_average.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class GradientSynchronizer {
 public:
  enum class Mode { kAccumulate, kAverageState };
  struct Options {
    Mode mode = Mode::kAccumulate;
    int64_t interval = 1;  // AVERAGE_STATE: updates between averages
    int64_t bucket_bytes = int64_t{4} << 20;
    // Type to which gradients are rounded for sending; Undefined: no rounding.
    at::ScalarType wire = at::ScalarType::Undefined;
    // Updates between comparisons of the ranks' states; 0: never. AVERAGE_STATE
    // also compares when it averages.
    int64_t divergence_check_interval = 0;
    double share = 1;  // this rank's fraction of a step's images, > 0
    // Set with a GradientScaler: gradients that are not finite are not an
    // error, because all ranks see them in the sum and skip the update.
    bool may_be_infinite = false;
  };
  // State that must be equal on all ranks, on one device.
  struct State {
    TensorsByName parameters = {};
    // Untrained parameters: compared, but not summed or averaged.
    TensorsByName frozen = {};
    TensorsByName buffers = {};
    TensorsByName optimizer = {};
  };

  GradientSynchronizer(const Options& options, State state,
                       const FleetCollectives& fleet);
  // Closes the collectives if they still use this object's memory.
  ~GradientSynchronizer();
  GradientSynchronizer(const GradientSynchronizer&) = delete;
  GradientSynchronizer& operator=(const GradientSynchronizer&) = delete;

  void ExpectLastBackward();
  absl::Status Reduce(absl::Time deadline);
  // Averages or compares states if due after update `step`, counted from 1.
  absl::Status AfterUpdate(int64_t step, absl::Time deadline);

  // Returns whether Reduce sums gradients over the ranks.
  bool sums_gradients() const { return buckets_ != nullptr; }

  // AVERAGE_STATE: |own - mean| / |mean| before the last average.
  double drift() const { return average_ ? average_->drift() : 0; }

 private:
  enum class Phase { kIdle, kReduce, kAverage, kCompare };

  void TakeMeanOfOwnImages();
  bool ComparesAfter(int64_t step) const;
  void LaunchComparison();
  absl::Status FinishComparison(absl::Time deadline);
  TensorsByName AllState() const;

  // Never changes after construction.
  const Options options_;
  const State state_;
  const FleetCollectives fleet_;

  std::unique_ptr<GradientBuckets> buckets_;  // ACCUMULATE
  std::unique_ptr<StateAverage> average_;     // AVERAGE_STATE
  std::unique_ptr<StateAverage> means_;  // ACCUMULATE: image means; may be null
  std::unique_ptr<CopiedTensors> copied_;  // in both modes
  std::vector<uint32_t> checksums_;        // by rank, then by tensor
  Collective::Ticket comparison_ = 0;
  Phase phase_ = Phase::kIdle;
};

}  // namespace gandem
