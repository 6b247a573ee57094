// SPDX-License-Identifier: Apache-2.0
//
// Sums gradients over the ranks of a fleet during the backward pass. Buckets of
// gradients are sent in reverse order of registration, roughly the order of a
// backward pass. A bucket is sent when it is complete and all buckets before it
// have been sent, so that all ranks submit the same operations. The last bucket
// also carries flags: the parameters that have a gradient on this rank, and the
// first gradient that is not finite.
//
// Owner: GradientSynchronizer. The collectives outlive it. Thread safety: one
// compute thread; hooks run in the backward pass that the compute thread waits
// for. Errors: gradient_synchronizer.h.
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
    // Type to which gradients are rounded for sending; Undefined: no rounding.
    at::ScalarType wire = at::ScalarType::Undefined;
    bool may_be_infinite = false;
  };

  // `parameters` are leaves of the graph on one device.
  GradientBuckets(const Options& options, TensorsByName parameters,
                  const FleetCollectives& fleet);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Makes the next backward pass send the buckets.
  void ExpectLastBackward() { is_last_backward_ = true; }
  // Sends the remaining buckets, with zeros for missing gradients.
  void Launch();
  // Waits for the sums; call it again after DEADLINE_EXCEEDED.
  absl::Status Finish(absl::Time deadline);

 private:
  class Hook;
  struct Bucket {
    std::vector<size_t> members = {};  // indices into parameters_
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
  const at::Device device_;  // device of the buckets

  std::vector<Bucket> buckets_;    // in the order of sending
  std::vector<size_t> bucket_of_;  // by parameter

  // Progress of the current step.
  bool is_last_backward_ = false;
  std::vector<bool>
      is_ready_;         // by parameter: the last backward pass reached it
  size_t num_left_ = 0;  // buckets sent
  size_t num_back_ = 0;  // buckets received
  int64_t first_infinite_ = -1;  // index of a parameter
  bool sums_are_finite_ = true;
  std::string late_;  // parameter whose gradient came after its bucket was sent
};

}  // namespace gandem
