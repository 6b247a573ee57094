// SPDX-License-Identifier: Apache-2.0
//
// StyleGAN2's path length regularization as the generator's role sees it: a
// term of its loss, on images of their own, that the extra `stylegan2` computes
// (extras/README.md).
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

  // Is it measured in the generator's step `step`, counted from 0?
  bool Due(int64_t step) const { return weight > 0 && step % every_steps == 0; }
};

// What measured images are made of, and noise of as many values as an image.
struct PathInput {
  at::Tensor noise_NZ;
  Condition condition;
  at::Tensor direction_NV;
};

class PathPenalty {
 public:
  struct Step {
    Generator& network;
    int64_t images = 0;              // that are measured, over all ranks
    std::vector<IndexRange> ranges;  // this rank's, a backward pass for each
    FleetGather* fleet = nullptr;    // of ranks that train as one; null: none
    std::function<absl::StatusOr<PathInput>(IndexRange range)> input;
    // The next backward pass is the last one of a second update.
    std::function<void()> expect_last_backward;
    // The backward pass of a part of the loss.
    std::function<void(const at::Tensor& loss)> backward;
  };

  virtual ~PathPenalty() = default;
  // The backward passes of a step in which it is due.
  virtual absl::Status Backward(const Step& step) = 0;
  // What a checkpoint has to keep.
  virtual TensorsByName State() const = 0;
};

// `share`: of a step's images that are this rank's, above 0. `where`: the place
// of the state.
using PathPenaltyMaker = std::unique_ptr<PathPenalty> (*)(
    const PathLengthOptions& options, double share, at::Device where);

// One element, or none: this build lacks the extra.
std::vector<PathPenaltyMaker> PathPenaltyMakers();

inline std::unique_ptr<PathPenalty> NewPathPenalty(
    const PathLengthOptions& options, double share, at::Device where) {
  const auto makers = PathPenaltyMakers();
  GANDEM_CHECK(!makers.empty());  // CheckNetwork refuses such a recipe
  return makers.front()(options, share, where);
}

}  // namespace gandem
