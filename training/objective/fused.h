// SPDX-License-Identifier: Apache-2.0
//
// FUSED feedback: d(generator loss)/d(image) of the pass in which the
// discriminator trains on the image, in place of a frozen pass of its own
// (training/objective/critic.h). From one forward pass there are two ways:
//
//   two backward passes   JudgeTrained, which keeps the graph, then that of the
//                         discriminator's loss.
//   one                   JudgeAfterBackward: what it leaves in an image,
//                         divided by the slope it began with at the image's
//                         logit and times that of the generator's loss, is this
//                         gradient. Exact where both losses reach an image
//                         through its own logit alone.
//
// Our own layers begin the one with the sum of the logits, a slope of 1, and
// weigh images in the gradients of parameters
// (models/layers/parameter_weights.h). Those of others begin with the
// discriminator's loss. Its slope may be 0, or next to it, where the
// generator's is not, and then they take two.
//
// Thread safety: the compute thread that owns the network.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/network.h"
#include "training/compute/compute.h"
#include "training/objective/objective.h"

namespace gandem {

// A training pass on generated images, with its graph.
struct TrainingPass {
  at::Tensor images_NCHW = {};  // before augmentation; they want a gradient
  Verdict verdict = {};
  at::Tensor labels_N = {};
  // Relativistic losses: of the real images that they are compared with.
  Logits real_logits = {};
  // What its one backward pass begins with; undefined: it takes two.
  at::Tensor root_slopes_N = {};
};

// The slopes of the discriminator's loss, as root_slopes_N; undefined if one of
// them is too small to divide by.
at::Tensor RootSlopesOfLoss(const at::Tensor& slopes_N, int64_t batch_size);

struct TrainedJudgment {
  at::Tensor gradient_NCHW;
  std::vector<double> losses;  // each image's share of the step's loss
};

// `batch_size`: of the generator.
TrainedJudgment JudgeTrained(const TrainingPass& pass,
                             const ObjectiveOptions& objective,
                             int64_t batch_size, const Compute& compute);

// After the one backward pass, whose root_slopes_N are defined.
TrainedJudgment JudgeAfterBackward(const TrainingPass& pass,
                                   const ObjectiveOptions& objective,
                                   int64_t batch_size);

}  // namespace gandem
