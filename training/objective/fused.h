// SPDX-License-Identifier: Apache-2.0
//
// FUSED feedback: d(generator loss)/d(image) of the pass in which the
// discriminator trains on the image, in place of a frozen pass of its own
// (training/objective/critic.h). From one forward pass there are two ways:
//
//   two backward passes   JudgeTrained, which keeps the graph, then that of the
//                         discriminator's loss.
//   one                   from the sum of the logits: what it leaves in the
//                         images times the slopes of the generator's loss is
//                         this gradient (JudgeAfterBackward), and in parameters
//                         images have the slopes of the discriminator's loss as
//                         weights (models/layers/parameter_weights.h). Exact
//                         where both losses reach an image through its own
//                         logit alone.
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
};

struct TrainedJudgment {
  at::Tensor gradient_NCHW;
  std::vector<double> losses;  // each image's share of the step's loss
};

// `batch_size`: of the generator.
TrainedJudgment JudgeTrained(const TrainingPass& pass,
                             const ObjectiveOptions& objective,
                             int64_t batch_size, const Compute& compute);

// After the one backward pass.
TrainedJudgment JudgeAfterBackward(const TrainingPass& pass,
                                   const ObjectiveOptions& objective,
                                   int64_t batch_size);

}  // namespace gandem
