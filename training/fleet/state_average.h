// SPDX-License-Identifier: Apache-2.0
//
// Averages tensors over the ranks of a fleet, weighted by the ranks' shares of
// a batch, and copies tensors of rank 0.
//
// Owner: GradientSynchronizer. The collectives outlive them.
// Thread safety: one compute thread.
// Errors: gradient_synchronizer.h; call Finish again after DEADLINE_EXCEEDED.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collective/collective.h"
#include "training/fleet/flat_tensors.h"
#include "training/fleet/fleet_collectives.h"

namespace gandem {

class CopiedTensors {
 public:
  // Copies rank 0's values to `tensors` on all ranks.
  CopiedTensors(std::vector<at::Tensor> tensors, const FleetCollectives& fleet);

  void Launch();
  absl::Status Finish(absl::Time deadline);

 private:
  at::Tensor BytesAt(int64_t offset, const at::Tensor& tensor) const;

  const std::vector<at::Tensor> tensors_;
  Collective* const collective_;
  at::Tensor bytes_;  // all tensors, concatenated
  Collective::Ticket ticket_ = 0;
};

class StateAverage {
 public:
  // Takes tensors of any floating-point types. Measures drift on `parameters`.
  StateAverage(double share, const std::vector<at::Tensor>& parameters,
               const std::vector<at::Tensor>& others, int64_t bucket_bytes,
               const FleetCollectives& fleet);

  void Launch();
  absl::Status Finish(absl::Time deadline);

  // Returns |own - mean| / |mean| of all parameters before the last Finish.
  double drift() const { return drift_; }

 private:
  struct Bucket {
    std::vector<at::Tensor> tensors;
    FlatTensors values;
    bool has_drift = false;
    Collective::Ticket ticket = 0;
  };

  void MakeBuckets(const std::vector<at::Tensor>& tensors, bool have_drift,
                   int64_t bucket_bytes);
  void Unpack(const Bucket& bucket);

  const double share_;
  Collective* const collective_;
  const at::Device device_;  // device of the buckets
  std::vector<Bucket> buckets_;
  size_t num_back_ = 0;
  double squared_distance_ = 0;  // over unpacked buckets
  double squared_mean_ = 0;
  double drift_ = 0;
};

}  // namespace gandem
