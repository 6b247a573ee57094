// SPDX-License-Identifier: Apache-2.0
//
// Sums gradients over the ranks of a fleet while the backward pass goes on.
// Gradients travel in buckets in reverse order of registration, which is about
// the order in which a backward pass makes them. A bucket leaves when all its
// gradients are there and all buckets before it have left, so that all ranks
// submit the same operations whatever their timing. With the last one travel
// flags: which parameters this rank has a gradient of, and whether one is not
// finite.
//
// Owner: GradientSynchronizer. The collectives outlive it.
// Thread safety: one compute thread; hooks run in the backward pass that it
// waits for.
// Errors: gradient_synchronizer.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collective/collective.h"
#include "training/fleet/flat_tensors.h"
#include "training/fleet/fleet_collectives.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class GradientBuckets {
 public:
  struct Options {
    int64_t bucket_bytes = 0;  // required, >= 1
    // What gradients are rounded to on the way; Undefined: their own type.
    at::ScalarType wire = at::ScalarType::Undefined;
    bool may_be_infinite = false;
  };

  // Leaves of the graph, on one device.
  GradientBuckets(const Options& options, TensorsByName parameters,
                  const FleetCollectives& fleet);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Buckets leave in the next backward pass.
  void ExpectLastBackward() { is_last_backward_ = true; }
  // The last backward pass is over: what has not left leaves. A gradient that
  // this rank does not have counts as zero.
  void Launch();
  // Waits until the gradients are the sums; call it again after
  // DEADLINE_EXCEEDED.
  absl::Status Finish(absl::Time deadline);

 private:
  class Hook;
  struct Bucket {
    std::vector<size_t> members = {};  // of parameters_
    FlatTensors values;
    size_t num_ready = 0;
    Collective::Ticket ticket = 0;
  };

  void MakeBuckets();
  void OnGradient(size_t parameter);
  void Pack(Bucket& bucket);
  void PackFlags(const at::Tensor& flags) const;
  absl::Status CheckFlags(const at::Tensor& flags) const;
  void Unpack(const Bucket& bucket);

  // Never changes after construction.
  const Options options_;
  const TensorsByName parameters_;
  Collective* const collective_;
  const at::Device device_;  // of buckets

  std::vector<Bucket> buckets_;    // in the order of leaving
  std::vector<size_t> bucket_of_;  // by parameter

  // How far the present step is.
  bool is_last_backward_ = false;
  std::vector<bool>
      is_ready_;         // by parameter: it was in the last backward pass
  size_t num_left_ = 0;  // buckets under way or back
  size_t num_back_ = 0;
  int64_t first_infinite_ = -1;  // a parameter
  bool sums_are_finite_ = true;
  std::string late_;  // a gradient that came when its bucket had left
};

}  // namespace gandem
