// SPDX-License-Identifier: Apache-2.0
//
// FUSED feedback: d(generator loss)/d(image) from the pass in which the
// discriminator trains on the image, instead of a separate pass of a frozen
// critic (training/objective/critic.h). After the forward pass there are two
// methods:
//
//   two backward passes   JudgeTrained, which keeps the graph, then the
//                         backward pass of the discriminator's loss.
//   one backward pass     JudgeAfterBackward multiplies the image gradient of
//                         the training pass by the slope of the generator's
//                         loss at the image's logit and divides it by the slope
//                         at which the backward pass started (the root slope).
//                         This is exact if both losses depend on an image only
//                         through its own logit.
//
// With gandem's own layers, the one backward pass starts at the sum of the
// logits, so root slopes are 1, and images are weighted in the gradients of
// parameters (models/layers/parameter_weights.h). Other networks start at the
// discriminator's loss. If one of its slopes is too close to 0 to divide by,
// they take two backward passes.
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
  at::Tensor images_NCHW = {};  // before augmentation; they require a gradient
  Verdict verdict = {};
  at::Tensor labels_N = {};
  // Logits of the real images that a relativistic loss compares with.
  Logits real_logits = {};
  // Slopes at the logits with which the one backward pass starts; undefined for
  // two backward passes.
  at::Tensor root_slopes_N = {};
};

// Root slopes of a backward pass from the discriminator's loss, whose slopes
// are `slopes_N`. Undefined if one of them is too small to divide by.
at::Tensor RootSlopesOfLoss(const at::Tensor& slopes_N, int64_t batch_size);

struct TrainedJudgment {
  at::Tensor gradient_NCHW;
  std::vector<double> losses;  // each image's share of the step's loss
};

// `batch_size`: the generator's batch size.
TrainedJudgment JudgeTrained(const TrainingPass& pass,
                             const ObjectiveOptions& objective,
                             int64_t batch_size, const Compute& compute);

// Call it after the one backward pass; needs pass.root_slopes_N.
TrainedJudgment JudgeAfterBackward(const TrainingPass& pass,
                                   const ObjectiveOptions& objective,
                                   int64_t batch_size);

}  // namespace gandem
