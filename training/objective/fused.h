// SPDX-License-Identifier: Apache-2.0
//
// FUSED feedback: takes d(generator loss)/d(image) from the discriminator's
// training pass instead of a separate pass of a frozen critic
// (training/objective/critic.h). There are two methods after the forward pass:
//
//   two backward passes   JudgeTrained, which keeps the graph, then the
//                         backward pass of the discriminator's loss.
//   one backward pass     JudgeAfterBackward multiplies the image gradient of
//                         the training pass by the slope of the generator's
//                         loss at the image's logit, and divides it by the
//                         slope at which the backward pass started (the root
//                         slope). Exact if both losses depend on an image only
//                         through its own logit.
//
// With gandem's own layers, the single backward pass starts at the sum of the
// logits, so root slopes are 1, and images are weighted in the gradients of
// parameters (models/layers/parameter_weights.h). Other networks start at the
// discriminator's loss, or need two passes if a slope is nearly 0.
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
  at::Tensor images_NCHW = {};  // before augmentation; require a gradient
  Verdict verdict = {};
  at::Tensor labels_N = {};
  // Logits of real images to compare with, for relativistic losses.
  Logits real_logits = {};
  // Slopes at which the single backward pass starts; undefined: two passes.
  at::Tensor root_slopes_N = {};
};

// Returns the root slopes of a backward pass from the discriminator's loss with
// slopes `slopes_N`; undefined if one is too small to divide by.
at::Tensor RootSlopesOfLoss(const at::Tensor& slopes_N, int64_t batch_size);

struct TrainedJudgment {
  at::Tensor gradient_NCHW;
  std::vector<double> losses;  // per image: share of the step's loss
};

// `batch_size` is the generator's.
TrainedJudgment JudgeTrained(const TrainingPass& pass,
                             const ObjectiveOptions& objective,
                             int64_t batch_size, const Compute& compute);

// Must be called after the single backward pass. Requires pass.root_slopes_N.
TrainedJudgment JudgeAfterBackward(const TrainingPass& pass,
                                   const ObjectiveOptions& objective,
                                   int64_t batch_size);

}  // namespace gandem
