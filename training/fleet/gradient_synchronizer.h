// SPDX-License-Identifier: Apache-2.0
//
// Makes the ranks of a fleet one network (design.md section 7). In each step:
//
//   ... the backward passes of all micro-batches but the last ...
//   synchronizer.ExpectLastBackward();
//   ... the last one; its gradients leave while it goes on ...
//   GANDEM_RETURN_IF_ERROR(synchronizer.Reduce(deadline));
//   ... clip and update: the same on all ranks ...
//   GANDEM_RETURN_IF_ERROR(synchronizer.AfterUpdate(step, deadline));
//
// ACCUMULATE: gradients become their sums over all ranks, and buffers those of
// rank 0, so that parameters, buffers and optimizer are the same bits on all
// ranks. Each rank's loss is its share of that of the global batch, so the sum
// is its gradient. Buffers that follow means over images (kImageMeanSuffix in
// models/network.h) become those over the images of all ranks.
//
// AVERAGE_STATE (local SGD, Stich 2019): gradients become those of the mean
// over this rank's images, each rank updates by itself, and after every
// interval-th update parameters, buffers and the optimizer's state become their
// means over the ranks, weighted by their shares of the batch; counters become
// those of rank 0.
//
// A fleet of one has nothing to do, and changes no bit.
//
// Owner: the role, one per network; it shares the network's tensors. The
// collectives outlive it.
// Thread safety: one compute thread.
// Errors of both waiting calls, the same on all ranks; final but for the first:
//   DEADLINE_EXCEEDED    call again.
//   FAILED_PRECONDITION  no rank has a gradient of a parameter; names it.
//   OUT_OF_RANGE         a gradient is not finite; names parameter and rank.
//   DATA_LOSS            the ranks' states differ; names the first tensor.
//   Collective::Wait's others.
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
    int64_t interval = 1;  // AVERAGE_STATE: updates from average to average
    int64_t bucket_bytes = int64_t{4} << 20;
    // What gradients are rounded to on the way; Undefined: their own type.
    at::ScalarType wire = at::ScalarType::Undefined;
    // Updates between comparisons of the ranks' states; 0: never.
    // AVERAGE_STATE compares when it averages.
    int64_t divergence_check_interval = 0;
    double share = 1;  // of a step's images that are this rank's, above 0
    // A GradientScaler skips the update: a gradient that is not finite is no
    // error. It is in the sum of all ranks, so all skip.
    bool may_be_infinite = false;
  };
  // What has to be the same on all ranks. Parameters are leaves, on one device.
  struct State {
    TensorsByName parameters = {};
    // Parameters that are not trained: compared, never summed or averaged.
    TensorsByName frozen = {};
    TensorsByName buffers = {};
    TensorsByName optimizer = {};
  };

  GradientSynchronizer(const Options& options, State state,
                       const FleetCollectives& fleet);
  // Closes the collectives if they still use this one's memory.
  ~GradientSynchronizer();
  GradientSynchronizer(const GradientSynchronizer&) = delete;
  GradientSynchronizer& operator=(const GradientSynchronizer&) = delete;

  // The next backward pass is the last one before Reduce.
  void ExpectLastBackward();
  // Waits until the gradients are those of the fleet.
  absl::Status Reduce(absl::Time deadline);
  // After update number `step`, counted from 1: averages, compares.
  absl::Status AfterUpdate(int64_t step, absl::Time deadline);

  // Does Reduce make sums over the ranks of gradients?
  bool sums_gradients() const { return buckets_ != nullptr; }

  // AVERAGE_STATE: |own - mean| / |mean| of the parameters before the last
  // average.
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
  std::unique_ptr<StateAverage> means_;    // ACCUMULATE; null: no such buffer
  std::unique_ptr<CopiedTensors> copied_;  // with either
  std::vector<uint32_t> checksums_;        // by rank, then by tensor
  Collective::Ticket comparison_ = 0;
  Phase phase_ = Phase::kIdle;  // what is under way
};

}  // namespace gandem
