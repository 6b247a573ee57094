// SPDX-License-Identifier: Apache-2.0
//
// Interface of StyleGAN2's path length regularization, a term of the
// generator's loss on separate images. The extra `stylegan2` implements it.
//
// Owner: the generator's role. Thread safety: one compute thread.
// Errors: those of a step's input; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/check.h"
#include "exchange/schedule.h"
#include "models/fleet_gather.h"
#include "models/network.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

struct PathLengthOptions {
  double weight = 0;  // 0: off
  int64_t every_steps = 4;
  int64_t batch_shrink = 2;
  bool separate = false;  // in a second update of the step

  // Returns whether step `step`, counted from 0, includes the penalty.
  bool Due(int64_t step) const { return weight > 0 && step % every_steps == 0; }
};

// Inputs of the measured images, and random directions [images, V] in image
// space, with V values per image.
struct PathInput {
  at::Tensor noise_NZ;
  Condition condition;
  at::Tensor direction_NV;
};

class PathPenalty {
 public:
  struct Step {
    Generator& network;
    int64_t images = 0;              // measured images over all ranks
    std::vector<IndexRange> ranges;  // on this rank, one per backward pass
    FleetGather* fleet = nullptr;    // null: no other ranks
    std::function<absl::StatusOr<PathInput>(IndexRange range)> input;
    // Announces the last backward pass of a second update.
    std::function<void()> expect_last_backward;
    // Runs the backward pass of a part of the loss.
    std::function<void(const at::Tensor& loss)> backward;
  };

  virtual ~PathPenalty() = default;
  // Runs the backward passes of a step in which the penalty is due.
  virtual absl::Status Backward(const Step& step) = 0;
  virtual TensorsByName State() const = 0;
};

// `share`: this rank's fraction of a step, > 0; `where`: device of the state.
using PathPenaltyMaker = std::unique_ptr<PathPenalty> (*)(
    const PathLengthOptions& options, double share, at::Device where);

// Returns one element; empty if this build lacks the extra.
std::vector<PathPenaltyMaker> PathPenaltyMakers();

inline std::unique_ptr<PathPenalty> NewPathPenalty(
    const PathLengthOptions& options, double share, at::Device where) {
  const auto makers = PathPenaltyMakers();
  GANDEM_CHECK(!makers.empty());  // CheckNetwork rejects such a recipe
  return makers.front()(options, share, where);
}

}  // namespace gandem
